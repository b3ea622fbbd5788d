//! What goes over a connection: a byte for the kind, the length in bytes as u64, then numbers as little-endian f32, or UTF-8.

use std::io::{Error, ErrorKind, Read, Result, Write};

const DATA: u8 = 0;
const SIGN: u8 = 1;
const FAREWELL: u8 = 2;
const BYE: u8 = 3;

/// More than a message ever has: whoever says so speaks something else.
const MOST_BYTES: u64 = 1 << 36;

/// Longer messages are not copied to be sent in one piece with their heads.
const COPIED: usize = 1 << 16;

/// One piece of what is said.
#[derive(Debug, PartialEq)]
pub enum Frame {
    /// A message.
    Data(Vec<f32>),
    /// What the other rank does.
    Sign(String),
    /// Its last words.
    Farewell(String),
    /// It ends the connection.
    Bye,
}

/// Numbers as they travel.
fn little_endian(data: &mut [f32]) {
    if cfg!(target_endian = "big") {
        data.iter_mut()
            .for_each(|v| *v = f32::from_bits(v.to_bits().swap_bytes()));
    }
}

/// Adds `frame` to `buffer`, and writes what is there to `stream` where the frame is long.
pub fn put(mut frame: Frame, buffer: &mut Vec<u8>, stream: &mut impl Write) -> Result<()> {
    let (kind, bytes): (u8, &[u8]) = match &mut frame {
        Frame::Data(data) => {
            little_endian(data);
            (DATA, bytemuck::cast_slice(data))
        }
        Frame::Sign(text) => (SIGN, text.as_bytes()),
        Frame::Farewell(text) => (FAREWELL, text.as_bytes()),
        Frame::Bye => (BYE, &[]),
    };
    buffer.push(kind);
    buffer.extend((bytes.len() as u64).to_le_bytes());
    if bytes.len() <= COPIED {
        buffer.extend(bytes);
        return Ok(());
    }
    stream.write_all(buffer)?;
    buffer.clear();
    stream.write_all(bytes)
}

/// The next frame of `stream`.
pub fn read(stream: &mut impl Read) -> Result<Frame> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let length = u64::from_le_bytes(length);
    if length > MOST_BYTES || (kind == DATA && !length.is_multiple_of(4)) {
        return Err(ErrorKind::InvalidData.into());
    }
    let length = length as usize;
    let text = |stream: &mut dyn Read| -> Result<String> {
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes)?;
        String::from_utf8(bytes).map_err(|e| Error::new(ErrorKind::InvalidData, e))
    };
    Ok(match kind {
        DATA => {
            let mut data = vec![0f32; length / 4];
            stream.read_exact(bytemuck::cast_slice_mut(&mut data))?;
            little_endian(&mut data);
            Frame::Data(data)
        }
        SIGN => Frame::Sign(text(stream)?),
        FAREWELL => Frame::Farewell(text(stream)?),
        BYE => Frame::Bye,
        _ => return Err(ErrorKind::InvalidData.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_comes_out_again_bit_for_bit_and_nothing_half() {
        let long = vec![f32::MIN_POSITIVE; COPIED / 4 + 1];
        let all = || {
            [
                Frame::Data(vec![1.5, -0.0, f32::INFINITY]),
                Frame::Sign("in step 3, loading".into()),
                Frame::Data(Vec::new()),
                Frame::Data(long.clone()),
                Frame::Farewell("—".into()),
                Frame::Bye,
            ]
        };
        let (mut sent, mut buffer) = (Vec::new(), Vec::new());
        for frame in all() {
            put(frame, &mut buffer, &mut sent).unwrap();
        }
        sent.extend(&buffer);
        assert_eq!(sent[..13], [0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x3f]);
        let mut rest = &sent[..];
        for frame in all() {
            assert_eq!(read(&mut rest).unwrap(), frame);
        }
        assert!(rest.is_empty());
        for end in [0, 8, 20, sent.len() - 1] {
            let mut cut = &sent[..end];
            while !cut.is_empty() && read(&mut cut).is_ok() {}
            assert!(read(&mut cut).is_err());
        }
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        for wrong in [
            &[9, 0, 0, 0, 0, 0, 0, 0, 0][..],
            &[0, 3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3],
            &[1; 9],
        ] {
            assert!(read(&mut &wrong[..]).is_err());
        }
    }
}
