//! Rows into a table by COPY, as they are encoded.

use std::io::{self, Write};

use postgres::Client;

use super::copy::Encoder;
use super::crew::sql;
use crate::generate::Encoded;
use crate::tpcc::load_error::LoadError;
use crate::tpcc::shift::Meter;

/// Bytes handed to the connection at a time: large enough that system calls do not count.
const CHUNK: usize = 64 * 1024;

/// A COPY under way.
pub(crate) struct Copy<'a> {
    writer: &'a mut dyn Write,
    encoder: Encoder,
    meter: &'a Meter<'a>,
    sent: Encoded,
}

/// Copies what `rows` hands over and runs `record` with it; all of it or, where anything fails,
/// nothing.
pub(crate) fn copy_into(
    client: &mut Client,
    table: &str,
    record: &str,
    meter: &Meter<'_>,
    rows: impl FnOnce(&mut Copy<'_>) -> io::Result<()>,
) -> Result<(), LoadError> {
    let failed = || sql("copy into", format!("table {table}"));
    let mut transaction = client.transaction().map_err(failed())?;
    let mut writer = transaction
        .copy_in(&format!("COPY {table} FROM STDIN BINARY"))
        .map_err(failed())?;
    encode(&mut writer, meter, rows).map_err(|error| {
        match error.downcast::<postgres::Error>() {
            Ok(source) => failed()(source),
            // Nothing but the connection writes here, so what else fails is our own stop.
            Err(_) => LoadError::Stopped,
        }
    })?;
    writer.finish().map_err(failed())?;
    transaction.batch_execute(record).map_err(failed())?;
    transaction.commit().map_err(failed())
}

/// The same without a server.
pub(crate) fn copy_nowhere(
    meter: &Meter<'_>,
    rows: impl FnOnce(&mut Copy<'_>) -> io::Result<()>,
) -> Result<Encoded, LoadError> {
    encode(&mut io::sink(), meter, rows).map_err(|_| LoadError::Stopped)
}

fn encode(
    writer: &mut dyn Write,
    meter: &Meter<'_>,
    rows: impl FnOnce(&mut Copy<'_>) -> io::Result<()>,
) -> io::Result<Encoded> {
    let mut copy = Copy {
        writer,
        encoder: Encoder::default(),
        meter,
        sent: Encoded::default(),
    };
    copy.encoder.header();
    rows(&mut copy)?;
    copy.encoder.trailer();
    copy.send()?;
    Ok(copy.sent)
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
        let bytes = self.encoder.bytes();
        self.writer.write_all(bytes)?;
        self.sent.bytes += bytes.len() as u64;
        let rows = self.encoder.clear();
        self.sent.rows += rows;
        self.meter.add(rows);
        Ok(())
    }
}
