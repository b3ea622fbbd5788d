//! Points of formats 6 to 10 out of their layers: coordinates, returns, intensity and class, and nothing else.
//!
//! LASzip 3 compresses each attribute in a layer of its own (Isenburg, "LAZ compression for LAS 1.4", 2018), and what
//! no cloud holds is never touched. Versions 3 and 4 of the layers differ only in attributes that we leave out.

use anyhow::{Context, Result, ensure};

use super::arithmetic::{Decoder, Integer, Model};

/// A point as it stands in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Steps along each axis.
    pub xyz: [i32; 3],
    /// Strength of the echo.
    pub intensity: u16,
    /// Which return, counted from 1.
    pub number: u8,
    /// How many returns the pulse gave.
    pub of: u8,
    /// ASPRS class.
    pub class: u8,
}

/// Which models a return uses for x and y, by how many returns the pulse gave, then by the return's number.
const RETURN_MODELS: [[u8; 16]; 16] = [
    [0, 1, 2, 3, 4, 5, 3, 4, 4, 5, 5, 5, 5, 5, 5, 5],
    [1, 0, 1, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3],
    [2, 1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3],
    [3, 3, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
    [4, 3, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
    [5, 3, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4],
    [3, 3, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4, 4],
    [4, 3, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4, 4],
    [4, 3, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4, 4],
    [5, 3, 4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4, 4],
    [5, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 4, 4, 4, 4, 4],
    [5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 4, 4, 4],
    [5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 4, 4],
    [5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 4],
    [5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5],
    [5, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5],
];

/// Five differences of late, in order; the one in the middle predicts the next.
#[derive(Clone, Copy)]
struct Median {
    values: [i32; 5],
    /// Whether the greatest is the next to go, else the least.
    high: bool,
}

impl Median {
    const NEW: Self = Self {
        values: [0; 5],
        high: true,
    };

    /// Puts `v` in its place and drops the least or the greatest; without a branch, which would be guessed wrong.
    #[inline(always)]
    fn add(&mut self, v: i32) {
        let [a, b, c, d, e] = self.values;
        let pick = |high, low| std::hint::select_unpredictable(self.high, high, low);
        let kept = [pick(a, b), pick(b, c), pick(c, d), pick(d, e)];
        // Which end is the next to go turns when the new value falls beyond the middle on the side that lost one.
        let beyond = (v > c && self.high) | (v < c && !self.high) | (v == c);
        self.values = [
            kept[0].min(v),
            kept[0].max(kept[1].min(v)),
            kept[1].max(kept[2].min(v)),
            kept[2].max(kept[3].min(v)),
            kept[3].max(v),
        ];
        self.high ^= beyond;
    }
}

/// What is known of the points of one of the scanner's four channels.
struct Channel {
    last: Point,
    time_changed: bool,
    intensities: [u16; 8],
    z: [i32; 8],
    medians: [[Median; 12]; 2],
    changes: Vec<Model>,
    channel: Model,
    of: [Option<Box<Model>>; 16],
    number: [Option<Box<Model>>; 16],
    number_same_time: Model,
    class: [Option<Box<Model>>; 64],
    dx: Integer,
    dy: Integer,
    dz: Integer,
    intensity: Integer,
}

impl Channel {
    fn new(last: Point) -> Self {
        Self {
            last,
            time_changed: false,
            intensities: [last.intensity; 8],
            z: [last.xyz[2]; 8],
            medians: [[Median::NEW; 12]; 2],
            changes: (0..8).map(|_| Model::new(128)).collect(),
            channel: Model::new(3),
            of: [const { None }; 16],
            number: [const { None }; 16],
            number_same_time: Model::new(13),
            class: [const { None }; 64],
            dx: Integer::new(32, 2),
            dy: Integer::new(32, 22),
            dz: Integer::new(32, 20),
            intensity: Integer::new(16, 4),
        }
    }

    /// Which returns came last: single, first, last or in between, and whether their time had changed.
    fn situation(&self) -> usize {
        usize::from(self.last.number == 1)
            + 2 * usize::from(self.last.number >= self.last.of)
            + 4 * usize::from(self.time_changed)
    }
}

/// Where the attributes that are read lie among the nine layers.
const XY: usize = 0;
const Z: usize = 1;
const CLASS: usize = 2;
const INTENSITY: usize = 4;
/// Layers of a point; those of colours and extra bytes follow.
const LAYERS: usize = 9;

/// The points of one chunk, one after another.
pub struct Points<'a> {
    channels: [Option<Box<Channel>>; 4],
    now: usize,
    /// The chunk's first point, before it was given.
    first: Option<Point>,
    xy: Decoder<'a>,
    z: Option<Decoder<'a>>,
    class: Option<Decoder<'a>>,
    intensity: Option<Decoder<'a>>,
}

impl<'a> Points<'a> {
    /// Begins with the chunk `data`, whose first point takes `record` bytes with its colours and extra bytes, and
    /// whose items have `layers` layers in all.
    ///
    /// # Errors
    /// Where the layers do not fit into the chunk.
    pub fn new(data: &'a [u8], record: usize, layers: usize) -> Result<Self> {
        let head = record + 4 + 4 * layers;
        ensure!(
            record >= 30 && layers >= LAYERS && data.len() >= head,
            "a chunk of {} bytes has no room for the lengths of its {layers} layers: the file is damaged",
            data.len()
        );
        let u32_at = |at: usize| u32::from_le_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        let mut at = head;
        let mut found = [None, None, None, None, None];
        for layer in 0..=INTENSITY {
            let bytes = u32_at(record + 4 + 4 * layer) as usize;
            let rest = data.get(at..).filter(|rest| rest.len() >= bytes);
            let rest = rest.with_context(|| {
                format!("layer {layer} of {bytes} bytes does not fit into its chunk: the file is damaged")
            })?;
            // An empty layer: the attribute is the first point's throughout.
            found[layer] = (bytes > 0).then(|| Decoder::new(rest, bytes));
            at += bytes;
        }
        let first = Point {
            xyz: [0, 4, 8].map(|a| u32_at(a) as i32),
            intensity: u16::from_le_bytes([data[12], data[13]]),
            number: data[14] & 15,
            of: data[14] >> 4,
            class: data[16],
        };
        let now = usize::from(data[15] >> 4 & 3);
        let mut channels = [const { None }; 4];
        channels[now] = Some(Box::new(Channel::new(first)));
        Ok(Self {
            channels,
            now,
            first: Some(first),
            xy: found[XY].take().unwrap_or_else(|| Decoder::new(&[], 0)),
            z: found[Z].take(),
            class: found[CLASS].take(),
            intensity: found[INTENSITY].take(),
        })
    }

    /// Gives the next points to `each`, as many as `n`.
    ///
    /// # Errors
    /// Where a layer ends before its points do.
    pub fn decode(&mut self, n: usize, mut each: impl FnMut(Point)) -> Result<()> {
        let mut left = n;
        if n > 0
            && let Some(first) = self.first.take()
        {
            each(first);
            left -= 1;
        }
        for _ in 0..left {
            each(self.next());
        }
        let layers = [
            Some(&self.xy),
            self.z.as_ref(),
            self.class.as_ref(),
            self.intensity.as_ref(),
        ];
        // The chunk's first point is not compressed, and needs no layer.
        if left > 0 {
            layers.into_iter().flatten().try_for_each(Decoder::check)?;
        }
        Ok(())
    }

    /// The channel that the next point came from, after a change.
    #[cold]
    fn change_channel(&mut self) {
        let Some(before) = &mut self.channels[self.now] else {
            return;
        };
        let step = self.xy.symbol(&mut before.channel) as usize + 1;
        let last = before.last;
        self.now = (self.now + step) % 4;
        self.channels[self.now].get_or_insert_with(|| Box::new(Channel::new(last)));
    }

    #[inline(always)]
    fn next(&mut self) -> Point {
        let xy = &mut self.xy;
        let Some(channel) = &mut self.channels[self.now] else {
            return Point::default();
        };
        let situation = channel.situation();
        let change = xy.symbol(&mut channel.changes[situation]);
        if change & 64 != 0 {
            self.change_channel();
        }
        let xy = &mut self.xy;
        let Some(c) = &mut self.channels[self.now] else {
            return Point::default();
        };
        let time = usize::from(change & 16 != 0);
        returns(c, xy, change);
        let (of, number) = (usize::from(c.last.of), usize::from(c.last.number));
        let single = usize::from(of == 1);
        // Single, first, last or in between.
        let which = 2 * usize::from(number == 1) + usize::from(number >= of);

        let model = usize::from(RETURN_MODELS[of][number]) << 1 | time;
        let dx = c.dx.decode(xy, c.medians[0][model].values[2], single);
        c.medians[0][model].add(dx);
        c.last.xyz[0] = c.last.xyz[0].wrapping_add(dx);
        let context = single + (c.dx.taken.min(20) & !1) as usize;
        let dy = c.dy.decode(xy, c.medians[1][model].values[2], context);
        c.medians[1][model].add(dy);
        c.last.xyz[1] = c.last.xyz[1].wrapping_add(dy);
        if let Some(z) = &mut self.z {
            let context = single + (((c.dx.taken + c.dy.taken) / 2).min(18) & !1) as usize;
            let level = &mut c.z[of.abs_diff(number).min(7)];
            *level = c.dz.decode(z, *level, context);
            c.last.xyz[2] = *level;
        }
        if let Some(class) = &mut self.class {
            let context = usize::from(c.last.class & 31) << 1 | usize::from(which == 3);
            let model = c.class[context].get_or_insert_with(|| Box::new(Model::new(256)));
            c.last.class = class.symbol(model) as u8;
        }
        if let Some(intensity) = &mut self.intensity {
            let last = &mut c.intensities[which << 1 | time];
            *last = c.intensity.decode(intensity, i32::from(*last), which) as u16;
            c.last.intensity = *last;
        }
        c.time_changed = time == 1;
        c.last
    }
}

/// The return's number and their count, as far as they changed.
#[inline(always)]
fn returns(c: &mut Channel, xy: &mut Decoder, change: u32) {
    let number = c.last.number;
    if change & 4 != 0 {
        let model = c.of[usize::from(c.last.of)].get_or_insert_with(|| Box::new(Model::new(16)));
        c.last.of = xy.symbol(model) as u8;
    }
    c.last.number = match change & 3 {
        0 => number,
        1 => (number + 1) % 16,
        2 => (number + 15) % 16,
        _ if change & 16 != 0 => {
            let model = c.number[usize::from(number)].get_or_insert_with(|| Box::new(Model::new(16)));
            xy.symbol(model) as u8
        }
        _ => (number + xy.symbol(&mut c.number_same_time) as u8 + 2) % 16,
    };
}
