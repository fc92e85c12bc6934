//! Connections that were lost: why they cannot be made again is told, and nobody waits for them in the end.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use dbdyno_bench::driver::{Driver, Options};
use dbdyno_model::connection::{Address, Connection, SslMode};

use super::{Fixture, observe, script};

/// Two connections that are made again when they are lost.
fn two() -> Options {
    Options {
        connections: 2,
        reconnect: true,
        ..Options::default()
    }
}

#[test]
fn why_a_connection_cannot_be_made_again_is_counted_and_told() {
    let fixture = Fixture::start();
    let mut client = fixture.client();
    client.batch_execute("CREATE ROLE app LOGIN").unwrap();
    let connection = Connection {
        user: "app".into(),
        ..fixture.connection()
    };
    let mut driver = Driver::start(&connection, &script("SELECT 1"), &two()).unwrap();
    client.batch_execute("ALTER ROLE app NOLOGIN").unwrap();
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'";
    client.batch_execute(terminate).unwrap();
    let shut_out = observe(&mut driver, 1.5).totals(0.0);
    let [refused] = &shut_out.reconnects_failed[..] else {
        panic!("{shut_out:?}");
    };
    assert_eq!(refused.code.as_deref(), Some("28000"), "{refused:?}");
    let reason = "not permitted to log in";
    assert!(
        refused.count >= 4 && refused.message.contains(reason),
        "{refused:?}"
    );
    client.batch_execute("ALTER ROLE app LOGIN").unwrap();
    let let_in = observe(&mut driver, 2.0).totals(0.0);
    assert!(let_in.transactions > 0, "{let_in:?}");
    let stopped = driver.stop().unwrap();
    assert_eq!(stopped.errors, 2, "what was lost, not what was refused");
}

/// Two connections on their way through us to the server's socket.
fn pass(listener: &TcpListener, socket: &Path) -> Vec<TcpStream> {
    let way = |_| {
        let (client, _) = listener.accept().unwrap();
        let server = UnixStream::connect(socket).unwrap();
        let (mut asks, mut asked) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || {
            // Either side may be cut off.
            let _ = io::copy(&mut asks, &mut asked);
            let _ = asked.shutdown(Shutdown::Both);
        });
        let (mut answers, mut answered) = (server, client.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut answers, &mut answered));
        client
    };
    (0..2).map(way).collect()
}

#[test]
fn a_load_ends_promptly_while_nobody_answers_its_connections() {
    let fixture = Fixture::start();
    let direct = fixture.connection();
    let Address::Socket(directory) = &direct.address else {
        panic!("a lab server listens on its socket");
    };
    let socket = directory.join(format!(".s.PGSQL.{}", direct.port));
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let connection = Connection {
        address: Address::Tcp("127.0.0.1".into()),
        port: listener.local_addr().unwrap().port(),
        ssl_mode: SslMode::Disable,
        connect_timeout_s: 60,
        ..direct.clone()
    };
    // Whoever connects later waits in the backlog.
    let (mut driver, ways) = thread::scope(|scope| {
        let passing = scope.spawn(|| pass(&listener, &socket));
        let driver = Driver::start(&connection, &script("SELECT 1"), &two()).unwrap();
        (driver, passing.join().unwrap())
    });
    for way in ways {
        way.shutdown(Shutdown::Both).unwrap();
    }
    let cut_off = observe(&mut driver, 1.0).totals(0.0);
    assert_eq!(cut_off.reconnects_failed, [], "a try is under way");
    let asked = Instant::now();
    let stopped = driver.stop().unwrap();
    assert!(asked.elapsed() < Duration::from_secs(5));
    assert_eq!(stopped.errors, 2);
}
