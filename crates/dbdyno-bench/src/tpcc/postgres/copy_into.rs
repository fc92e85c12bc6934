//! Rows into a table by COPY, as they are encoded.

use std::io::{self, Write};

use postgres::{Client, CopyInWriter};

use super::copy::Encoder;
use super::crew::sql;
use crate::tpcc::load_error::LoadError;
use crate::tpcc::shift::Meter;

/// Bytes handed to the connection at a time: large enough that system calls do not count.
const CHUNK: usize = 64 * 1024;

/// A COPY under way.
pub(crate) struct Copy<'a> {
    writer: CopyInWriter<'a>,
    encoder: Encoder,
    meter: &'a Meter<'a>,
}

/// Copies what `rows` hands over; all of it or, where anything fails, nothing.
pub(crate) fn copy_into(
    client: &mut Client,
    table: &str,
    meter: &Meter<'_>,
    rows: impl FnOnce(&mut Copy<'_>) -> io::Result<()>,
) -> Result<(), LoadError> {
    let failed = || sql("copy into", format!("table {table}"));
    let writer = client
        .copy_in(&format!("COPY {table} FROM STDIN BINARY"))
        .map_err(failed())?;
    let mut copy = Copy {
        writer,
        encoder: Encoder::default(),
        meter,
    };
    copy.encoder.header();
    rows(&mut copy)
        .and_then(|()| {
            copy.encoder.trailer();
            copy.send()
        })
        .map_err(|error| match error.downcast::<postgres::Error>() {
            Ok(source) => failed()(source),
            // Nothing but the connection writes here, so what else fails is our own stop.
            Err(_) => LoadError::Stopped,
        })?;
    copy.writer.finish().map_err(failed())?;
    Ok(())
}

impl Copy<'_> {
    pub(crate) fn each<Row>(
        &mut self,
        rows: impl IntoIterator<Item = Row>,
        encode: impl Fn(&mut Encoder, Row),
    ) -> io::Result<()> {
        for row in rows {
            encode(&mut self.encoder, row);
            if self.encoder.bytes().len() >= CHUNK {
                self.send()?;
            }
        }
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        if self.meter.stopped() {
            return Err(io::Error::other("stopped"));
        }
        self.writer.write_all(self.encoder.bytes())?;
        self.meter.add(self.encoder.clear());
        Ok(())
    }
}
