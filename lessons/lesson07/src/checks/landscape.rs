use candle_core::{Device, Error, Result, Tensor, Var};
use grader::{Case, Draw, Values, Verdict, draw, given};

use super::values;
use crate::Lesson07;

const SHAPES: [&[usize]; 5] = [&[2, 2, 3], &[5], &[3, 4], &[3, 1], &[]];

/// The parameters with at least two axes.
const WEIGHTS: [usize; 3] = [0, 2, 3];
/// The parameters with at most one.
const VECTORS: [usize; 2] = [1, 4];

struct Place {
    params: Vec<Var>,
    directions: Vec<Tensor>,
    /// Weights and directions as they were drawn.
    start: Vec<Vec<f64>>,
    ways: Vec<Vec<f64>>,
}

impl Place {
    /// Filters of very different lengths. With `empty`, each first filter of the directions and each second one of the
    /// weights is zero.
    fn new(draw: &mut Draw, empty: bool) -> Result<Self> {
        let (mut params, mut directions, mut start, mut ways) = (vec![], vec![], vec![], vec![]);
        for shape in SHAPES {
            let count: usize = shape.iter().product();
            let (mut w, mut d) = (draw.list(count, -0.5, 1.5), draw.list(count, -2.0, 1.0));
            let size = count / shape.first().copied().unwrap_or(1);
            for (i, (w, d)) in w.chunks_mut(size).zip(d.chunks_mut(size)).enumerate() {
                // Never short by chance.
                (w[0], d[0]) = (1.5 + i as f32, -2.0);
                w.iter_mut().for_each(|x| *x *= [1.0, 4.0, 0.25][i % 3]);
                d.iter_mut().for_each(|x| *x *= [1.0, 0.0625, 2.0][i % 3]);
                if empty && i == 0 {
                    d.fill(0.0);
                } else if empty && i == 1 {
                    w.fill(0.0);
                }
            }
            // Only the same bits are the same as these.
            w[count - 1] = -0.0;
            params.push(Var::from_slice(&w, shape, &Device::Cpu)?);
            directions.push(Tensor::from_slice(&d, shape, &Device::Cpu)?);
            start.push(w.iter().map(|&x| f64::from(x)).collect());
            ways.push(d.iter().map(|&x| f64::from(x)).collect());
        }
        Ok(Self {
            params,
            directions,
            start,
            ways,
        })
    }

    /// The directions times `factor`, a power of two.
    fn shrunk(mut self, factor: f64) -> Result<Self> {
        for direction in &mut self.directions {
            *direction = (&*direction * factor)?;
        }
        let ways = self.ways.iter_mut().flatten();
        ways.for_each(|way| *way *= factor);
        Ok(self)
    }

    fn given(&self, alphas: &[f64], more: &str) -> Case {
        given(format!(
            "parameters [2, 2, 3], [5], [3, 4], [3, 1] and []; alphas {alphas:?}{more}; the first filter is {:.3?}, its direction {:.3?}",
            &self.start[0][..6],
            &self.ways[0][..6]
        ))
        // The terms of w + α·d may cancel.
        .at_scale(1.0)
    }

    /// w + α·d of parameter `i`, filter by filter.
    fn at(&self, i: usize, alpha: f64) -> Vec<f64> {
        let (w, d) = (&self.start[i], &self.ways[i]);
        if SHAPES[i].len() < 2 {
            return w.clone();
        }
        let size = w.len() / SHAPES[i][0];
        let length = |list: &[f64]| list.iter().map(|x| x * x).sum::<f64>().sqrt();
        let filters = w.chunks(size).zip(d.chunks(size));
        filters
            .flat_map(|(w, d)| {
                let own = length(d);
                let stretch = if own > 0.0 { length(w) / own } else { 0.0 };
                w.iter()
                    .zip(d)
                    .map(move |(w, d)| w + alpha * stretch * d)
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// The parameters at each call of `loss`.
    fn visited(&self, answer: &Lesson07, alphas: &[f64]) -> Result<Vec<Vec<Values>>> {
        let mut seen = Vec::new();
        (answer.loss_along)(&self.params, &self.directions, alphas, &mut || {
            seen.push(
                self.params
                    .iter()
                    .map(|p| values(p))
                    .collect::<Result<Vec<_>>>()?,
            );
            Ok(seen.len() as f64)
        })?;
        Ok(seen)
    }

    fn check(&self, case: &Case, seen: &[Vec<Values>], alphas: &[f64], which: &[usize]) -> Verdict {
        case.close("calls of loss", seen.len(), alphas.len())?;
        for (look, &alpha) in seen.iter().zip(alphas) {
            for &i in which {
                let expected = Values::tensor(self.at(i, alpha), SHAPES[i], "f32");
                case.close(
                    &format!("parameter {} at alpha {alpha}", i + 1),
                    look[i].clone(),
                    expected,
                )?;
            }
        }
        Ok(())
    }

    fn check_bits(&self, case: &Case) -> Verdict {
        for (i, (param, start)) in self.params.iter().zip(&self.start).enumerate() {
            let now = values(param)?.numbers;
            let pairs = || now.iter().zip(start);
            let same = pairs().all(|(a, b)| a.to_bits() == b.to_bits());
            let near = pairs().all(|(a, b)| (a - b).abs() < 0.01);
            let said = if near {
                "equal up to rounding, but not bit-identical"
            } else {
                "moved away from where it was"
            };
            case.require(&format!("parameter {} afterwards", i + 1), same, said)?;
        }
        Ok(())
    }
}

pub fn normalises_each_filter(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [0.75]);
    let case = place.given(&alphas, "");
    let seen = place.visited(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &WEIGHTS)
}

pub fn starts_every_step_at_the_weights(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [-0.5, 0.0, 0.25, 1.0]);
    let case = place.given(&alphas, "");
    let seen = place.visited(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &WEIGHTS)
}

pub fn leaves_vectors_unchanged(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [0.5]);
    let case = place.given(&alphas, "; those with at most one axis are compared");
    let seen = place.visited(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &VECTORS)
}

pub fn accepts_a_filter_of_zeros(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, true)?, [0.5]);
    let case = place.given(
        &alphas,
        "; each first filter of the directions is 0, and each second one of the weights",
    );
    let seen = place.visited(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &WEIGHTS)
}

pub fn accepts_short_filters(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let factor = 0.5f64.powi(45);
    let (place, alphas) = (Place::new(&mut draw, false)?.shrunk(factor)?, [0.25]);
    let case = place.given(
        &alphas,
        &format!("; the directions are short, about {factor:.0e}"),
    );
    let seen = place.visited(answer, &alphas)?;
    place.check(&case, &seen, &alphas, &WEIGHTS)
}

pub fn returns_the_losses_in_order(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let place = Place::new(&mut draw, false)?;
    let alphas = [0.5, -1.0, 0.0, 2.0, 1.0];
    let case = place.given(
        &alphas,
        "; the loss is the sum of the squares of the third parameter",
    );
    let got = (answer.loss_along)(&place.params, &place.directions, &alphas, &mut || {
        let numbers = values(&place.params[2])?.numbers;
        Ok(numbers.iter().map(|x| x * x).sum())
    })?;
    // Read from an f32 parameter: as near as that.
    let sum = |alpha: f64| place.at(2, alpha).iter().map(|x| x * x).sum::<f64>();
    let list = |numbers: Vec<f64>| Values::tensor(numbers, &[5], "f32");
    let count = got.len();
    case.close("number of losses", count, 5usize)?;
    case.close("losses", list(got), list(alphas.into_iter().map(sum).collect()))
}

pub fn returns_non_finite_losses(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [2.0, 1.0, 0.5, 0.0]);
    let losses = [f64::INFINITY, 3.0, f64::NAN, draw.number(1.0, 2.0)];
    let case = place.given(&alphas, &format!("; the losses are {losses:.2?}"));
    let mut left = losses.iter();
    let got = (answer.loss_along)(&place.params, &place.directions, &alphas, &mut || {
        Ok(left.next().copied().unwrap_or(0.0))
    });
    let Ok(got) = got else {
        return case.require("losses", false, "an error, although no call of `loss` failed");
    };
    case.close("losses", &got, &losses.to_vec())
}

pub fn restores_parameters_bit_identically(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let place = Place::new(&mut draw, false)?;
    let alphas = [0.1, 0.2, 0.7, 1000.0 * draw.number(1.0, 2.0)];
    let case = place.given(&alphas, "");
    place.visited(answer, &alphas)?;
    place.check_bits(&case)
}

pub fn restores_parameters_after_an_error(answer: &Lesson07) -> Verdict {
    let mut draw = draw();
    let (place, alphas) = (Place::new(&mut draw, false)?, [0.3, 0.6, 0.9]);
    let case = place.given(&alphas, "; the second loss fails");
    let mut looks = 0usize;
    let got = (answer.loss_along)(&place.params, &place.directions, &alphas, &mut || {
        looks += 1;
        if looks == 2 {
            return Err(Error::Msg("out of memory".into()));
        }
        Ok(1.0)
    });
    match got {
        Ok(_) => case.require("result, the error expected", false, "Ok")?,
        Err(e) => {
            let said = e.to_string();
            let own = said.contains("out of memory");
            case.require("result, the error \"out of memory\" expected", own, said)?;
        }
    }
    place.check_bits(&case)?;
    case.close("calls of loss", looks, 2usize)
}

pub fn accepts_no_alphas(answer: &Lesson07) -> Verdict {
    let place = Place::new(&mut draw(), false)?;
    let case = place.given(&[], "");
    let mut looks = 0usize;
    let got = (answer.loss_along)(&place.params, &place.directions, &[], &mut || {
        looks += 1;
        Ok(1.0)
    })?;
    case.close("number of losses", got.len(), 0usize)?;
    case.close("calls of loss", looks, 0usize)?;
    place.check_bits(&case)
}
