//! A scripted kernel in place of a user MAD file: it checks each call, byte by byte, and gives the next
//! answer.

use std::{cell::RefCell, collections::VecDeque, fs::File, io, rc::Rc};

use ib_mad::{GrhAddress, MadAddress, Method};
use ib_wire::{Lid, Sl};

use super::*;

/// The result of a call in the script.
type CallResult = Result<Vec<u8>, i32>;

#[derive(Default)]
struct Script {
    /// The answers of `ioctl` by request: bytes that replace the start of its argument, or an error.
    ioctls: VecDeque<(u32, CallResult)>,
    reads: VecDeque<CallResult>,
    writes: VecDeque<Result<(), i32>>,
    /// The arguments of `ioctl` and the bytes of `write`, as they came.
    seen: Vec<(u32, Vec<u8>)>,
}

/// Stands in for the number of a write among those of control calls.
const WRITE: u32 = 0;

#[derive(Clone)]
struct Kernel(Rc<RefCell<Script>>, Rc<File>);

impl Kernel {
    fn new(ioctls: impl IntoIterator<Item = (u32, CallResult)>) -> Self {
        let script = Script {
            ioctls: ioctls.into_iter().collect(),
            ..Script::default()
        };
        let file = File::open("/dev/null").unwrap();
        Self(Rc::new(RefCell::new(script)), Rc::new(file))
    }

    fn node(&self) -> Node<Self> {
        Node::over(self.clone(), "mlx5_0/1".to_owned(), false)
    }

    fn call(&self, request: u32) -> CallResult {
        let mut script = self.0.borrow_mut();
        match script.ioctls.pop_front() {
            Some((expected, answer)) if expected == request => answer,
            other => panic!("{request:#x} instead of {other:x?}"),
        }
    }

    fn seen(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.0.borrow_mut().seen)
    }
}

impl AsFd for Kernel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.1.as_fd()
    }
}

impl UserMadFile for Kernel {
    fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let mut script = self.0.borrow_mut();
        // As the kernel does: what has no room stays queued, and its start is shown.
        let Some(next) = script.reads.pop_front() else {
            return Ok(None);
        };
        let message = next.map_err(io::Error::from_raw_os_error)?;
        let shown = message.len().min(buffer.len());
        buffer[..shown].copy_from_slice(&message[..shown]);
        if shown < message.len() {
            script.reads.push_front(Ok(message));
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        Ok(Some(shown))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut script = self.0.borrow_mut();
        script.seen.push((WRITE, bytes.to_vec()));
        match script.writes.pop_front() {
            Some(Err(error)) => Err(io::Error::from_raw_os_error(error)),
            _ => Ok(bytes.len()),
        }
    }

    fn ioctl<const REQUEST: u32, T: FromBytes + IntoBytes>(
        &self,
        argument: &mut T,
    ) -> io::Result<()> {
        let bytes = argument.as_mut_bytes().to_vec();
        self.0.borrow_mut().seen.push((REQUEST, bytes));
        if REQUEST == UNREGISTER_AGENT {
            return Ok(());
        }
        let answer = self.call(REQUEST).map_err(io::Error::from_raw_os_error)?;
        for (to, from) in argument.as_mut_bytes().iter_mut().zip(answer) {
            *to = from;
        }
        Ok(())
    }

    fn ioctl_plain(&self, request: u32) -> io::Result<()> {
        self.call(request)
            .map(drop)
            .map_err(io::Error::from_raw_os_error)
    }
}

/// A kernel of today, on which one agent gets number 7.
fn modern() -> Kernel {
    Kernel::new([
        (ENABLE_PKEY, Ok(Vec::new())),
        (REGISTER_AGENT2, Ok(7u32.to_ne_bytes().to_vec())),
    ])
}

fn ready(kernel: &Kernel) -> Node<Kernel> {
    let mut node = kernel.node();
    node.register(&AgentClass::client(MgmtClass::PERF, 1))
        .unwrap();
    kernel.seen();
    node
}

/// A user header as the kernel writes it, and a datagram after it.
fn from_kernel(header_len: usize, status: u32, datagram: &[u8]) -> Vec<u8> {
    let mut message = vec![0; header_len];
    message[0..4].copy_from_slice(&7u32.to_ne_bytes());
    message[4..8].copy_from_slice(&status.to_ne_bytes());
    let length = (header_len + datagram.len()) as u32;
    message[16..20].copy_from_slice(&length.to_ne_bytes());
    message[20..24].copy_from_slice(&1u32.to_be_bytes());
    message[28..30].copy_from_slice(&0x0102u16.to_be_bytes());
    message[30] = 4;
    message[31] = 3;
    if let Some(index) = message.get_mut(56..58) {
        index.copy_from_slice(&0x0203u16.to_ne_bytes());
    }
    message.extend_from_slice(datagram);
    message
}

#[test]
fn a_registration_has_the_bytes_of_the_interface() {
    let class = AgentClass {
        methods: &[Method::GET, Method::TRAP, Method::REPORT, Method(0x7f)],
        oui: 0x0012_3456,
        ..AgentClass::client(MgmtClass(0x32), 2)
    };
    let kernel = modern();
    let mut node = kernel.node();
    node.register(&class).unwrap();
    assert_eq!(node.agent(MgmtClass(0x32)), Some(7));
    assert_eq!(node.header_len, 64);
    let [(request, bytes)] = &kernel.seen()[..] else {
        panic!("one registration")
    };
    assert_eq!((*request, bytes.len()), (0xC028_1B04, 40));
    assert_eq!(bytes[4..8], 1u32.to_ne_bytes(), "qpn");
    assert_eq!(bytes[8..12], [0x32, 2, 0, 0], "class, version");
    assert_eq!(bytes[12..16], 1u32.to_ne_bytes(), "the user does RMPP");
    // Methods 1, 5, 6 and 0x7f in two words.
    assert_eq!(bytes[16..24], 0x62u64.to_ne_bytes());
    assert_eq!(bytes[24..32], (1u64 << 63).to_ne_bytes());
    assert_eq!(bytes[32..36], 0x0012_3456u32.to_ne_bytes(), "oui");
    assert_eq!(bytes[36..40], [1, 0, 0, 0], "rmpp_version");
    drop(node);
    assert_eq!(
        kernel.seen(),
        [(0x4004_1B02, 7u32.to_ne_bytes().to_vec())],
        "the agent is given back"
    );
}

#[test]
fn a_kernel_without_the_second_call_is_asked_by_the_first() {
    for refusal in [libc::ENOTTY, libc::EINVAL] {
        let kernel = Kernel::new([
            (ENABLE_PKEY, Ok(Vec::new())),
            (REGISTER_AGENT2, Err(refusal)),
            (REGISTER_AGENT, Ok(9u32.to_ne_bytes().to_vec())),
        ]);
        let class = AgentClass {
            methods: &[Method::GET, Method(0x7f)],
            oui: 0x0012_3456,
            ..AgentClass::client(MgmtClass(0x32), 1)
        };
        let mut node = kernel.node();
        node.register(&class).unwrap();
        assert_eq!(node.agent(MgmtClass(0x32)), Some(9));
        let seen = kernel.seen();
        let (request, bytes) = &seen[1];
        assert_eq!((*request, bytes.len()), (0xC01C_1B01, 28));
        assert_eq!(bytes[4..8], 2u32.to_ne_bytes());
        assert_eq!(bytes[8..16], [0; 8]);
        assert_eq!(bytes[16..20], (1u32 << 31).to_ne_bytes());
        assert_eq!(bytes[20..28], [1, 0x32, 1, 0x12, 0x34, 0x56, 0, 0]);
    }
}

#[test]
fn who_does_rmpp_is_in_the_registration() {
    let cases = [
        // class, who, flags and rmpp_version of the second call, rmpp_version of the first
        (MgmtClass::SUBN_ADM, RmppSide::User, 1, 1, 0),
        (MgmtClass::SUBN_ADM, RmppSide::Kernel, 0, 1, 1),
        (MgmtClass(0x4f), RmppSide::Kernel, 0, 1, 1),
        (MgmtClass::PERF, RmppSide::User, 0, 0, 0),
        (MgmtClass::SUBN_LID, RmppSide::User, 0, 0, 0),
    ];
    for (class, rmpp, flags, second, first) in cases {
        let kernel = Kernel::new([
            (ENABLE_PKEY, Ok(Vec::new())),
            (REGISTER_AGENT2, Err(libc::ENOTTY)),
            (REGISTER_AGENT, Ok(Vec::new())),
        ]);
        let class = AgentClass {
            rmpp,
            ..AgentClass::client(class, 1)
        };
        kernel.node().register(&class).unwrap();
        let seen = kernel.seen();
        assert_eq!(
            (&seen[0].1[12..16], seen[0].1[36]),
            (&u32::to_ne_bytes(flags)[..], second)
        );
        assert_eq!(seen[1].1[26], first);
    }
}

#[test]
fn subnet_management_is_registered_on_queue_pair_0_and_all_else_on_1() {
    for (class, qpn) in [(0x01, 0), (0x81, 0), (0x03, 1), (0x04, 1), (0x09, 1)] {
        let kernel = modern();
        let class = AgentClass::client(MgmtClass(class), 1);
        kernel.node().register(&class).unwrap();
        assert_eq!(kernel.seen()[0].1[4..8], u32::to_ne_bytes(qpn));
    }
}

#[test]
fn a_refused_registration_says_what_it_means() {
    let server = AgentClass {
        methods: &[Method::GET],
        ..AgentClass::client(MgmtClass::SUBN_ADM, 2)
    };
    let client = AgentClass::client(MgmtClass::SUBN_ADM, 2);
    let cases = [
        (
            server,
            libc::EINVAL,
            "another program already serves this class on the port, such as a second subnet manager",
        ),
        (client, libc::EINVAL, "the kernel refused the registration"),
        (
            server,
            libc::EPROTONOSUPPORT,
            "the port has no QP0 (RoCE): subnet management cannot run here",
        ),
        (client, libc::ENOMEM, "the file has 32 agents already"),
        (client, libc::EPIPE, "the device was removed"),
        (client, libc::EIO, "the device was removed"),
        (client, libc::ENODEV, "the device was removed"),
    ];
    for (class, error, hint) in cases {
        let kernel = Kernel::new([
            (ENABLE_PKEY, Ok(Vec::new())),
            (REGISTER_AGENT2, Err(error)),
            (REGISTER_AGENT, Err(error)),
        ]);
        let refused = kernel.node().register(&class).unwrap_err().to_string();
        let start = format!("mlx5_0/1: class SubnAdm cannot be registered: {hint} (");
        assert!(refused.starts_with(&start), "{refused}");
    }
}

#[test]
fn the_header_is_as_long_as_the_other_side_takes_it() {
    let lengths = |is_simulator, ioctls: Vec<(u32, CallResult)>| {
        let kernel = Kernel::new(ioctls);
        let mut node = Node::over(kernel.clone(), "mlx5_0/1".to_owned(), is_simulator);
        let before = node.header_len;
        node.register(&AgentClass::client(MgmtClass::PERF, 1))
            .unwrap();
        (before, node.header_len)
    };
    let registered = || (REGISTER_AGENT2, Ok(Vec::new()));
    let by_the_first = || {
        [
            (REGISTER_AGENT2, Err(libc::EINVAL)),
            (REGISTER_AGENT, Ok(Vec::new())),
        ]
    };
    let enabled = || (ENABLE_PKEY, Ok(Vec::new()));
    let refused = || (ENABLE_PKEY, Err(libc::EINVAL));
    assert_eq!(lengths(false, vec![enabled(), registered()]), (64, 64));
    // The second call switches by itself; the first one does not.
    assert_eq!(lengths(false, vec![refused(), registered()]), (56, 64));
    let [no, yes] = by_the_first();
    assert_eq!(lengths(false, vec![refused(), no, yes]), (56, 56));
    // ibsim's library would take ENABLE_PKEY and keep the old header: it is not asked.
    let [no, yes] = by_the_first();
    assert_eq!(lengths(true, vec![no, yes]), (56, 56));
}

#[test]
fn a_datagram_is_written_behind_its_header_in_one_call() {
    let address = MadAddress {
        path_bits: 3,
        pkey_index: 0x0102,
        grh: Some(GrhAddress {
            gid: "fe80::1".parse().unwrap(),
            gid_index: 5,
            hop_limit: 6,
            traffic_class: 7,
            flow_label: 0x000a_bcde,
        }),
        ..MadAddress::gsi(Lid(0x0102), Sl::from_low_bits(4))
    };
    let mut user = UserMadHeader::to(&address, 7);
    user.timeout_ms = 190;
    for (is_simulator, header_len) in [(false, 64), (true, 56)] {
        let kernel = Kernel::new(match is_simulator {
            true => vec![],
            false => vec![(ENABLE_PKEY, Ok(Vec::new()))],
        });
        let node = Node::over(kernel.clone(), "mlx5_0/1".to_owned(), is_simulator);
        let mut buffer = vec![0; BUFFER_LEN];
        node.write(&user, &[0xa5; 256], &mut buffer).unwrap();
        let seen = kernel.seen();
        let (_, bytes) = &seen[0];
        assert_eq!(bytes.len(), header_len + 256);
        assert_eq!(bytes[0..4], 7u32.to_ne_bytes());
        assert_eq!(bytes[4..8], [0; 4], "status");
        assert_eq!(bytes[8..12], 190u32.to_ne_bytes());
        assert_eq!(bytes[12..20], [0; 8], "retries, length");
        assert_eq!(bytes[20..28], [0, 0, 0, 1, 0x80, 1, 0, 0]);
        assert_eq!(bytes[28..36], [1, 2, 4, 3, 1, 5, 6, 7]);
        assert_eq!(bytes[36..56][15..], [1, 0, 0x0a, 0xbc, 0xde]);
        if header_len == 64 {
            assert_eq!(bytes[56..58], 0x0102u16.to_ne_bytes());
            assert_eq!(bytes[58..64], [0; 6]);
        }
        assert!(bytes[header_len..].iter().all(|&byte| byte == 0xa5));
        assert!(buffer.len() >= BUFFER_LEN, "room for the next read");
    }
}

#[test]
fn a_datagram_that_cannot_go_out_ends_nothing_and_a_lost_device_does() {
    let unreachable = [
        (libc::EINVAL, "the kernel refused it"),
        (libc::EHOSTUNREACH, "the kernel refused it"),
        (libc::EADDRNOTAVAIL, "the kernel refused it"),
        (libc::EAGAIN, "the kernel's queue is full"),
        (libc::ENOBUFS, "the kernel's queue is full"),
        (libc::ENOMEM, "the kernel's queue is full"),
    ];
    let kernel = modern();
    let node = ready(&kernel);
    let user = UserMadHeader::to(&MadAddress::DIRECTED, 7);
    let mut buffer = vec![0; BUFFER_LEN];
    let mut fails_with = |error| {
        kernel.0.borrow_mut().writes.push_back(Err(error));
        node.write(&user, &[0; 256], &mut buffer).unwrap_err()
    };
    for (error, text) in unreachable {
        let failed = fails_with(error);
        assert!(
            matches!(failed, TransportError::Unreachable { reason } if reason == text),
            "{failed}"
        );
    }
    for error in [libc::EIO, libc::ENODEV, libc::ENXIO, libc::EPIPE] {
        let failed = fails_with(error);
        assert!(
            matches!(&failed, TransportError::Closed { .. })
                && failed.to_string() == "the transport is closed: mlx5_0/1 was removed",
            "{failed}"
        );
    }
    let failed = fails_with(libc::EFAULT);
    assert!(
        failed.to_string().starts_with("write to mlx5_0/1: "),
        "{failed}"
    );
}

#[test]
fn a_message_is_read_with_its_address() {
    for (is_simulator, header_len, pkey_index) in [(false, 64, 0x0203), (true, 56, 0)] {
        let kernel = Kernel::new(match is_simulator {
            true => vec![],
            false => vec![(ENABLE_PKEY, Ok(Vec::new()))],
        });
        let node = Node::over(kernel.clone(), "mlx5_0/1".to_owned(), is_simulator);
        let message = from_kernel(header_len, 0, &[0x5a; 256]);
        kernel.0.borrow_mut().reads.push_back(Ok(message));
        let mut buffer = vec![0; BUFFER_LEN];
        let (header, bytes) = node.read(&mut buffer).unwrap().unwrap();
        assert_eq!(
            header.address(),
            MadAddress {
                path_bits: 3,
                pkey_index,
                ..MadAddress::gsi(Lid(0x0102), Sl::from_low_bits(4))
            }
        );
        assert_eq!(header.status, 0);
        assert_eq!(buffer[bytes], [0x5a; 256]);
        assert!(node.read(&mut buffer).unwrap().is_none());
    }
}

#[test]
fn a_request_without_an_answer_comes_back_by_its_header() {
    let kernel = modern();
    let node = ready(&kernel);
    let time_out = from_kernel(64, libc::ETIMEDOUT as u32, &[1; 24]);
    kernel.0.borrow_mut().reads.push_back(Ok(time_out));
    let mut buffer = vec![0xff; BUFFER_LEN];
    let (header, bytes) = node.read(&mut buffer).unwrap().unwrap();
    assert_eq!((header.status, bytes), (110, 64..88));
}

#[test]
fn a_message_that_has_no_room_is_read_again_whole() {
    let kernel = modern();
    let node = ready(&kernel);
    let long: Vec<u8> = (0..5_000).map(|i| (i % 251) as u8).collect();
    let messages = [
        from_kernel(64, 0, &long),
        from_kernel(64, 0, &long[..256]),
        from_kernel(64, 0, &long[..4_000]),
    ];
    kernel.0.borrow_mut().reads = messages.map(Ok).into();
    let mut buffer = vec![0; BUFFER_LEN];
    for length in [5_000, 256, 4_000] {
        let (_, bytes) = node.read(&mut buffer).unwrap().unwrap();
        assert_eq!(buffer[bytes], long[..length]);
    }
    assert_eq!(buffer.len(), 64 + 5_000);
}

#[test]
fn a_length_that_cannot_be_ends_the_reading() {
    let kernel = modern();
    let node = ready(&kernel);
    // ENOSPC with a length that has room already, or that no sender uses.
    for length in [100u32, u32::MAX] {
        let mut buffer = vec![0; BUFFER_LEN];
        buffer[16..20].copy_from_slice(&length.to_ne_bytes());
        kernel.0.borrow_mut().reads.push_back(Err(libc::ENOSPC));
        let error = node.read(&mut buffer).unwrap_err();
        assert!(error.to_string().starts_with("read mlx5_0/1: "), "{error}");
        assert_eq!(buffer.len(), BUFFER_LEN);
    }
    kernel.0.borrow_mut().reads.push_back(Err(libc::EIO));
    let error = node.read(&mut vec![0; BUFFER_LEN]).unwrap_err();
    assert!(matches!(error, TransportError::Closed { .. }), "{error}");
}

#[test]
fn a_file_that_cannot_be_opened_says_what_helps() {
    let cases = [
        (
            libc::EACCES,
            "open /dev/infiniband/umad0 (needs root, or a udev rule that gives access): ",
        ),
        (
            libc::EPERM,
            "open /dev/infiniband/umad0 (needs root, or a udev rule that gives access): ",
        ),
        (
            libc::EAGAIN,
            "open /dev/infiniband/umad0 (another subnet manager announces itself there): ",
        ),
        (
            libc::ENXIO,
            "open /dev/infiniband/umad0 (the device was removed): ",
        ),
        (
            libc::ENODEV,
            "open /dev/infiniband/umad0 (the device was removed): ",
        ),
        (
            libc::ENOENT,
            "open /dev/infiniband/umad0 (sysfs names the port, but its device file is not here: is udev \
             running, and is /dev/infiniband part of this container?): ",
        ),
        (libc::EMFILE, "open /dev/infiniband/umad0: "),
    ];
    for (error, expected) in cases {
        let refuses = |_: &Path, flags| {
            assert_eq!(flags, libc::O_RDWR | libc::O_NONBLOCK);
            Err::<(), _>(io::Error::from_raw_os_error(error))
        };
        let message = open("/dev/infiniband/umad0".into(), refuses)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_port_without_a_device_file_says_so() {
    let device = Device {
        name: "siw0".to_owned(),
        node_type: 4,
        ..Device::default()
    };
    let port = DevicePort {
        number: 1,
        umad: None,
        link_layer: super::super::LinkLayer::Ethernet,
        state: Some(4),
        phys_state: Some(5),
        lid: None,
        lmc: None,
        sm_lid: None,
        sm_sl: None,
        gid: None,
        cap_mask: None,
        rate: None,
        p_keys: Vec::new(),
    };
    let error = Node::open(&device, &port).err().unwrap().to_string();
    assert_eq!(
        error,
        "siw0/1 (Ethernet) has no user MAD device: iWARP has none, others if ib_umad is loaded (`modprobe \
         ib_umad`)"
    );
}
