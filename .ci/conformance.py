"""Writes the tables of a page of the book from the results of `ib conform --json`.

conformance.py FOLDER PAGE: FOLDER has one file PEER-SUBJECT.json for each run. What the page says above the marker stays.
The status is 1 if one of our own programs fails a case.
"""

import json
import pathlib
import sys

MARKER = "<!-- What follows is written by .ci/conformance. -->\n"
OURS, ON_OURS, ON_IBSIM = "ours-on-ours", "opensm-on-ours", "opensm-on-ibsim"
# Subject, title, and the runs with the heads of their columns. Agents and fabric belong to the simulator, whoever
# manages it.
SUBJECTS = [
    ("sm", "Subnet manager", {OURS: "`ib sm`", ON_OURS: "OpenSM on `ib sim`", ON_IBSIM: "OpenSM on ibsim"}),
    ("sa", "Subnet administrator", {OURS: "`ib sm`", ON_OURS: "OpenSM on `ib sim`", ON_IBSIM: "OpenSM on ibsim"}),
    ("sma", "Subnet management agents", {OURS: "`ib sim`", ON_IBSIM: "ibsim"}),
    ("sim", "Fabric and simulator", {OURS: "`ib sim`", ON_IBSIM: "ibsim"}),
]
RESULTS = ["pass", "fail", "skip"]


def load(folder, run, subject):
    text = (folder / f"{run}-{subject}.json").read_text()
    return {case["id"]: case for case in json.loads(text)["cases"]}


def row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def head(cells):
    return row(cells) + "|---" * len(cells) + "|\n"


def counts(run):
    results = [case["result"] for case in run.values()]
    return ", ".join(f"{results.count(result)} {result}" for result in RESULTS)


def main():
    folder, page = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    runs = {
        subject: {run: load(folder, run, subject) for run in columns} for subject, _, columns in SUBJECTS
    }
    total = sum(len(runs[subject][OURS]) for subject, _, _ in SUBJECTS)
    text = f"\n## Results\n\nThere are {total} cases.\n\n" + head(["cases for", "of", "results"])
    for subject, title, columns in SUBJECTS:
        for run, name in columns.items():
            text += row([title, name, counts(runs[subject][run])])
    for subject, title, columns in SUBJECTS:
        names = list(columns.values())
        text += f"\n## {title}\n\n" + head(["case", "rule", "source", *names])
        for case in runs[subject][OURS].values():
            judged = {run: runs[subject][run][case["id"]] for run in columns}
            results = [judged[run]["result"] for run in columns]
            line = row([case["id"], case["title"], case["source"], *results])
            text += line
            # A change is looked into by what the cases say.
            if line not in page.read_text():
                for run, name in columns.items():
                    print(f"{name}, {case['id']}: {judged[run]['result']} {judged[run]['message'] or ''}", file=sys.stderr)
        skipped = {}
        for run, name in columns.items():
            for case in runs[subject][run].values():
                if case["result"] == "skip":
                    skipped.setdefault((name, case["message"]), []).append(case["id"])
        if skipped:
            text += "\nSkipped:\n\n"
        for (name, message), ids in skipped.items():
            text += f"- {name}: {message}: {', '.join(ids)}\n"
    before, marker, _ = page.read_text().partition(MARKER)
    if not marker:
        sys.exit(f"{page} lacks the line {MARKER}")
    page.write_text(before + marker + text)

    failed = 0
    for subject, _, _ in SUBJECTS:
        for case in runs[subject][OURS].values():
            if case["result"] == "fail":
                print(f"ours fails {case['id']}, {case['title']}: {case['message']}", file=sys.stderr)
                failed = 1
    sys.exit(failed)


main()
