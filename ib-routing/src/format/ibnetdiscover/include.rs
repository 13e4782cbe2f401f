//! Files that a topology includes, as ibsim's fabric files may (`include "FILE"`): the lines of all of
//! them in a row, and where each comes from.

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use crate::error::{TopologyError, TopologyErrorKind as Kind};

/// The largest depth of files that include each other, as in ibsim.
const DEPTH: usize = 9;
/// The largest number of included files: files that include each other several times would grow without end.
const FILES: usize = 4096;

/// All lines in the order in which they count.
pub(super) struct Lines {
    lines: Vec<SourceLine>,
    /// Names of the included files; the text itself has none.
    files: Vec<String>,
}

struct SourceLine {
    text: String,
    /// The file that it is in, from 1; 0 is the text itself.
    file: usize,
    /// Its number there.
    number: usize,
    /// The line of the main text that included it.
    root: usize,
}

/// A text that is being read: what is left of it, from which line on.
struct Open {
    text: String,
    /// Bytes of it that were read.
    read: usize,
    file: usize,
    next: usize,
}

impl Open {
    fn new(text: &str, file: usize) -> Self {
        Self {
            text: text.to_owned(),
            read: 0,
            file,
            next: 1,
        }
    }

    /// The next line, and its number.
    fn next(&mut self) -> Option<(String, usize)> {
        let rest = self.text.get(self.read..)?;
        let line = rest.lines().next()?.to_owned();
        let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        self.read = self.read.saturating_add(length);
        let number = self.next;
        self.next = number.saturating_add(1);
        Some((line, number))
    }
}

impl Lines {
    /// Reads a text and what it includes; `load` gives the text of a file, or says why not.
    pub(super) fn read(
        text: &str,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, TopologyError> {
        let mut all = Self {
            lines: Vec::new(),
            files: Vec::new(),
        };
        let mut open = vec![Open::new(text, 0)];
        let mut root = 0;
        while let Some(top) = open.last_mut() {
            let (file, end) = (top.file, top.next);
            let Some((text, number)) = top.next() else {
                open.pop();
                if !open.is_empty() {
                    // A node does not go on after the end of its file.
                    all.push(String::new(), file, end, root);
                }
                continue;
            };
            if file == 0 {
                root = number;
            }
            let Some(name) = included(&text) else {
                // Of blank lines in a row the first ends the node, and the others say nothing.
                let is_blank = |text: &str| text.trim().is_empty();
                let again = all.lines.last().is_some_and(|last| is_blank(&last.text));
                if !(again && is_blank(&text)) {
                    all.push(text, file, number, root);
                }
                continue;
            };
            let loaded = match (open.len(), all.files.len()) {
                (1..=DEPTH, ..FILES) => load(&name),
                (1..=DEPTH, _) => Err(format!("found more than {FILES} files, expected fewer")),
                _ => Err(format!(
                    "found more than {DEPTH} files deep, expected fewer"
                )),
            };
            // The line is replaced by what it includes, and ends the node before it.
            all.push(String::new(), file, number, root);
            match loaded {
                Ok(text) => {
                    all.files.push(name);
                    open.push(Open::new(&text, all.files.len()));
                }
                Err(what) => {
                    let at = all.lines.len();
                    return Err(all.locate(Kind::Include { file: name, what }.at(at)));
                }
            }
        }
        Ok(all)
    }

    fn push(&mut self, text: String, file: usize, number: usize, root: usize) {
        self.lines.push(SourceLine {
            text,
            file,
            number,
            root,
        });
    }

    /// All lines, numbered from 1.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(self.lines.iter().map(|line| line.text.as_str()))
    }

    /// The error with the line of the text itself; with that of an included file inside.
    pub(super) fn locate(&self, error: TopologyError) -> TopologyError {
        let mut kind = error.kind;
        if let Kind::NodeTwice { first, .. } = &mut kind {
            *first = self.line(*first).map_or(*first, |line| line.number);
        }
        let Some(line) = error.line.and_then(|at| self.line(at)) else {
            return TopologyError { kind, ..error };
        };
        match self.file(line) {
            None => kind.at(line.root),
            Some(file) => Kind::Included {
                file: file.to_string(),
                line: line.number,
                error: Box::new(kind),
            }
            .at(line.root),
        }
    }

    /// The line of the text itself, and a warning that names the included file.
    pub(super) fn place(&self, at: usize, what: String) -> (usize, String) {
        match self.line(at) {
            None => (at, what),
            Some(line) => match self.file(line) {
                None => (line.root, what),
                Some(file) => (line.root, format!("{file}:{}: {what}", line.number)),
            },
        }
    }

    fn line(&self, at: usize) -> Option<&SourceLine> {
        self.lines.get(at.checked_sub(1)?)
    }

    fn file(&self, line: &SourceLine) -> Option<&str> {
        let file = self.files.get(line.file.checked_sub(1)?)?;
        Some(file)
    }
}

/// The file that a line includes.
fn included(line: &str) -> Option<String> {
    let (name, _) = line
        .trim_start()
        .strip_prefix("include")?
        .trim_start()
        .strip_prefix('"')?
        .split_once('"')?;
    Some(name.to_owned())
}
