//! One thread's event loop: a task for each connection, woken by its socket, its deadline or the driver.
//!
//! A task is polled whenever something that it registered has happened, or when all are woken; it
//! finds out by itself what it was. So a wake-up costs no queue, no lock and no allocation, and
//! whoever waits must look again at what it waits for.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;

const TIMER: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

/// Wakes every task of a reactor, from any thread.
#[derive(Debug, Clone)]
pub struct Alarm(Arc<OwnedFd>);

impl Alarm {
    pub fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self(Arc::new(fd)))
    }

    pub fn ring(&self) {
        // It can only fail once it has rung 2^64 times without being heard.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

/// The loop as its tasks see it. Cheap to clone; stays on its thread.
#[derive(Debug, Clone)]
pub struct Reactor(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    epoll: OwnedFd,
    timer: OwnedFd,
    alarm: Alarm,
    /// The task that is being polled.
    current: Cell<u64>,
    deadlines: RefCell<BinaryHeap<Reverse<(Instant, u64)>>>,
    /// What the timer is set to.
    armed: Cell<Option<Instant>>,
}

impl Reactor {
    pub fn new(alarm: Alarm) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), flags)?;
        epoll::add(&epoll, &*alarm.0, EventData::new_u64(ALARM), flags)?;
        Ok(Self(Rc::new(Inner {
            epoll,
            timer,
            alarm,
            current: Cell::new(0),
            deadlines: RefCell::default(),
            armed: Cell::new(None),
        })))
    }

    /// From now on the present task is polled when the socket becomes readable.
    pub(crate) fn register(&self, socket: impl AsFd) -> io::Result<()> {
        let data = EventData::new_u64(self.0.current.get());
        Ok(epoll::add(&self.0.epoll, socket, data, read_flags())?)
    }

    /// Whether the task is also polled when the socket becomes writable. A unix socket becomes so
    /// with every read of the other side, so that it is asked for only while it is needed.
    pub(crate) fn want_write(&self, socket: BorrowedFd<'_>, wanted: bool) -> io::Result<()> {
        let data = EventData::new_u64(self.0.current.get());
        let mut flags = read_flags();
        flags.set(EventFlags::OUT, wanted);
        Ok(epoll::modify(&self.0.epoll, socket, data, flags)?)
    }

    /// Until the present task is polled again, for whatever reason.
    pub fn pause(&self) -> Pause {
        Pause { paused: false }
    }

    /// The present task will be polled at this moment, or later if it is busy then.
    pub fn wake_at(&self, due: Instant) {
        let mut deadlines = self.0.deadlines.borrow_mut();
        deadlines.push(Reverse((due, self.0.current.get())));
        let first = deadlines.peek().map(|Reverse((due, _))| *due);
        drop(deadlines);
        self.arm(first);
    }

    /// Returns at `due`, never before.
    pub async fn sleep_until(&self, due: Instant) {
        if Instant::now() >= due {
            return;
        }
        self.wake_at(due);
        while Instant::now() < due {
            self.pause().await;
        }
    }

    /// The future's output, or none when it has not ended by then.
    pub async fn until<F: Future>(&self, due: Instant, future: F) -> Option<F::Output> {
        self.wake_at(due);
        let mut future = pin!(future);
        std::future::poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if Instant::now() >= due => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Polls one future to its end.
    pub fn block_on<F: Future>(&self, future: F) -> io::Result<F::Output> {
        let mut future = pin!(future);
        self.0.current.set(0);
        let mut events = Vec::with_capacity(EVENTS);
        loop {
            if let Poll::Ready(output) = poll(future.as_mut()) {
                return Ok(output);
            }
            self.wait(&mut events)?;
            for event in events.drain(..) {
                match event.data.u64() {
                    TIMER => self.take_due(|_| {}),
                    ALARM => self.hear(),
                    _ => {}
                }
            }
        }
    }

    /// Polls all tasks until each has ended, or `ended` breaks off. The others are dropped then.
    pub fn run<F: Future>(
        &self,
        tasks: impl IntoIterator<Item = F>,
        mut ended: impl FnMut(F::Output) -> ControlFlow<()>,
        mut woken: impl FnMut() -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut tasks: Vec<Option<Pin<Box<F>>>> =
            tasks.into_iter().map(|task| Some(Box::pin(task))).collect();
        let mut events = Vec::with_capacity(EVENTS);
        let mut due = Vec::with_capacity(tasks.len());
        let mut left = tasks.len();
        let mut all = true;
        loop {
            if std::mem::take(&mut all) {
                for index in 0..tasks.len() {
                    if self
                        .poll_task(&mut tasks, index, &mut left, &mut ended)
                        .is_break()
                    {
                        return Ok(());
                    }
                }
            }
            if left == 0 {
                return Ok(());
            }
            self.wait(&mut events)?;
            for event in events.drain(..) {
                match event.data.u64() {
                    TIMER => self.take_due(|task| due.push(task as usize)),
                    ALARM => {
                        self.hear();
                        all = true;
                    }
                    task => due.push(task as usize),
                }
            }
            for index in due.drain(..) {
                if self
                    .poll_task(&mut tasks, index, &mut left, &mut ended)
                    .is_break()
                {
                    return Ok(());
                }
            }
            if all && woken().is_break() {
                return Ok(());
            }
        }
    }

    fn poll_task<F: Future>(
        &self,
        tasks: &mut [Option<Pin<Box<F>>>],
        index: usize,
        left: &mut usize,
        ended: &mut impl FnMut(F::Output) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(slot) = tasks.get_mut(index) else {
            return ControlFlow::Continue(());
        };
        let Some(task) = slot else {
            return ControlFlow::Continue(());
        };
        self.0.current.set(index as u64);
        match poll(task.as_mut()) {
            Poll::Pending => ControlFlow::Continue(()),
            Poll::Ready(output) => {
                *slot = None;
                *left -= 1;
                ended(output)
            }
        }
    }

    fn wait(&self, events: &mut Vec<Event>) -> io::Result<()> {
        loop {
            match epoll::wait(&self.0.epoll, spare_capacity(events), None) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Hands out the tasks whose moment has come, and sets the timer for the next.
    fn take_due(&self, mut task: impl FnMut(u64)) {
        let mut deadlines = self.0.deadlines.borrow_mut();
        let now = Instant::now();
        let next = loop {
            match deadlines.peek() {
                Some(Reverse((due, _))) if *due > now => break Some(*due),
                Some(Reverse((_, index))) => task(*index),
                None => break None,
            }
            deadlines.pop();
        };
        drop(deadlines);
        self.0.armed.set(None);
        self.arm(next);
    }

    fn arm(&self, due: Option<Instant>) {
        if due == self.0.armed.get() {
            return;
        }
        self.0.armed.set(due);
        let Some(due) = due else { return };
        // Zero would switch the timer off.
        let left = due
            .saturating_duration_since(Instant::now())
            .max(Duration::from_nanos(1));
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: none,
            it_value: Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            },
        };
        // Setting it resets its count, so that each expiry is an edge of its own. With a sound
        // descriptor and a sound time it cannot fail.
        let _ = timerfd_settime(&self.0.timer, TimerfdTimerFlags::empty(), &once);
    }

    fn hear(&self) {
        let mut count = [0; 8];
        let _ = rustix::io::read(&*self.0.alarm.0, &mut count);
    }
}

fn read_flags() -> EventFlags {
    EventFlags::IN | EventFlags::RDHUP | EventFlags::ET
}

fn poll<F: Future>(task: Pin<&mut F>) -> Poll<F::Output> {
    task.poll(&mut Context::from_waker(Waker::noop()))
}

/// See [`Reactor::pause`].
#[derive(Debug)]
pub struct Pause {
    paused: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.paused, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn reactor() -> Reactor {
        Reactor::new(Alarm::new().unwrap()).unwrap()
    }

    fn run<F: Future>(reactor: &Reactor, tasks: impl IntoIterator<Item = F>) -> Vec<F::Output> {
        let mut outputs = Vec::new();
        let go_on = || ControlFlow::Continue(());
        let keep = |output| {
            outputs.push(output);
            ControlFlow::Continue(())
        };
        reactor.run(tasks, keep, go_on).unwrap();
        outputs
    }

    #[test]
    fn deadlines_come_in_order_and_never_early() {
        let reactor = reactor();
        let t0 = Instant::now();
        let sleeper = async |index: u32| {
            for round in 1..=20_u32 {
                let due = t0 + Duration::from_micros(u64::from(700 * round + 90 * index));
                reactor.sleep_until(due).await;
                assert!(Instant::now() >= due);
            }
            index
        };
        let ended = run(&reactor, [3, 1, 2].map(sleeper));
        assert_eq!(ended.len(), 3);
        assert!(t0.elapsed() >= Duration::from_micros(14_000 + 270));
    }

    #[test]
    fn a_socket_wakes_its_own_task() {
        let reactor = reactor();
        let (sockets, mut others): (Vec<_>, Vec<_>) =
            (0..2).map(|_| UnixStream::pair().unwrap()).unzip();
        let polls = Rc::new([Cell::new(0), Cell::new(0)]);
        others[1].write_all(b"x").unwrap();
        let reader = async |index: usize| {
            reactor.register(&sockets[index]).unwrap();
            loop {
                reactor.pause().await;
                polls[index].set(polls[index].get() + 1);
                let mut byte = [0];
                if rustix::io::read(&sockets[index], &mut byte).is_ok_and(|n| n == 1) {
                    if index == 1 {
                        others[0].try_clone().unwrap().write_all(b"y").unwrap();
                    }
                    return byte[0];
                }
            }
        };
        for socket in &sockets {
            socket.set_nonblocking(true).unwrap();
        }
        assert_eq!(run(&reactor, [reader(0), reader(1)]), [b'x', b'y']);
        assert_eq!(polls[1].get(), 1);
    }

    #[test]
    fn an_alarm_from_another_thread_wakes_all() {
        let alarm = Alarm::new().unwrap();
        let reactor = Reactor::new(alarm.clone()).unwrap();
        let flag = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let setter = std::thread::spawn({
            let flag = Arc::clone(&flag);
            move || {
                std::thread::sleep(Duration::from_millis(5));
                flag.store(true, std::sync::atomic::Ordering::SeqCst);
                alarm.ring();
            }
        });
        let waiter = async || {
            while !flag.load(std::sync::atomic::Ordering::SeqCst) {
                reactor.pause().await;
            }
        };
        assert_eq!(run(&reactor, [waiter(), waiter()]).len(), 2);
        setter.join().unwrap();
    }

    #[test]
    fn the_first_to_break_off_drops_the_others() {
        let reactor = reactor();
        let task = async |index: u32| {
            if index > 0 {
                reactor
                    .sleep_until(Instant::now() + Duration::from_secs(3600))
                    .await;
            }
            index
        };
        let mut outputs = Vec::new();
        let first = |output| {
            outputs.push(output);
            ControlFlow::Break(())
        };
        reactor
            .run([1, 0, 2].map(task), first, || ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(outputs, [0]);
    }
}
