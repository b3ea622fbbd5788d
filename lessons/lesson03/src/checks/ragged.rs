use candle_core::{DType, Device, Tensor};
use grader::{Case, Draw, Values, Verdict, draw, given};

use crate::Lesson03;

fn clouds(draw: &mut Draw, lengths: &[usize]) -> Vec<Vec<[f32; 3]>> {
    let mut cloud = |&n: &usize| draw.list(3 * n, 0.5, 9.0).as_chunks::<3>().0.to_vec();
    lengths.iter().map(&mut cloud).collect()
}

/// Clouds of different lengths, the longest in the middle.
fn case(draw: &mut Draw) -> (Case, Vec<Vec<[f32; 3]>>, usize) {
    let longest = draw.whole(5, 7);
    let lengths = [draw.whole(2, 4), longest, 1, draw.whole(3, 4)];
    let clouds = clouds(draw, &lengths);
    let case = given(format!(
        "clouds of {lengths:?} points; the first begins {:?}",
        clouds[0][0]
    ));
    (case, clouds, longest)
}

fn values(tensor: &Tensor) -> candle_core::Result<Values> {
    let numbers = tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()?;
    Ok(Values::tensor(numbers, tensor.dims(), tensor.dtype().as_str()))
}

pub fn pads_to_the_longest_cloud(answer: &Lesson03) -> Verdict {
    let (case, clouds, longest) = case(&mut draw());
    let (points, mask) = (answer.collate_ragged)(&clouds, &Device::Cpu)?;
    let shape = |t: &Tensor| t.dims().to_vec();
    case.close("shape of the points", &shape(&points), &vec![4, longest, 3])?;
    case.close("shape of the mask", &shape(&mask), &vec![4, longest])
}

pub fn puts_points_first_in_their_row(answer: &Lesson03) -> Verdict {
    let (case, clouds, longest) = case(&mut draw());
    let (points, _) = (answer.collate_ragged)(&clouds, &Device::Cpu)?;
    let mut expected = Vec::new();
    for cloud in &clouds {
        for at in 0..longest {
            let point = cloud.get(at).copied().unwrap_or([0.0; 3]);
            expected.extend(point.map(f64::from));
        }
    }
    case.close(
        "points",
        values(&points)?,
        Values::tensor(expected, &[4, longest, 3], "f32"),
    )
}

pub fn masks_the_padding(answer: &Lesson03) -> Verdict {
    let (case, clouds, longest) = case(&mut draw());
    let (_, mask) = (answer.collate_ragged)(&clouds, &Device::Cpu)?;
    let real = |cloud: &Vec<[f32; 3]>| {
        (0..longest)
            .map(|at| f64::from(u8::from(at < cloud.len())))
            .collect::<Vec<_>>()
    };
    let expected: Vec<f64> = clouds.iter().flat_map(real).collect();
    case.close(
        "mask",
        values(&mask)?,
        Values::tensor(expected, &[4, longest], "f32"),
    )
}

pub fn rejects_a_cloud_without_points(answer: &Lesson03) -> Verdict {
    for lengths in [&[3, 0, 2][..], &[0], &[]] {
        let clouds = clouds(&mut draw(), lengths);
        let case = given(format!("clouds of {lengths:?} points"));
        let got = (answer.collate_ragged)(&clouds, &Device::Cpu);
        case.require("result", got.is_err(), "Ok")?;
    }
    Ok(())
}
