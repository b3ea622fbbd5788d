//! The same launches on an NVIDIA GPU, with their times.

use anyhow::{Context, Result};
use candle_core::cuda_backend::cudarc::driver::sys::CUevent_flags::CU_EVENT_DEFAULT;
use candle_core::cuda_backend::cudarc::driver::{LaunchConfig, PushKernelArg};
use candle_core::cuda_backend::cudarc::nvrtc::{
    CompileError, CompileOptions, compile_ptx_with_opts, result::NvrtcError,
    sys::nvrtcResult::NVRTC_ERROR_COMPILATION,
};
use candle_core::cuda_backend::{CudaDevice, WrapErr};
use grid::Error;
use kit::experiment::Report;
use kit::table::{Table, fixed, json, left};
use lesson11::Lesson11;
use lesson11::launch::{Argument, Launch, path};

use super::network::{chain, forward, others};

/// Launches to be timed, after as many that are not.
const REPEATS: usize = 20;

/// Runs the launches of the experiment on the first GPU, for more and larger trees.
pub fn report(answer: &Lesson11, report: &mut Report) -> Result<()> {
    let device = match CudaDevice::new_with_stream(0) {
        Ok(device) => device,
        Err(error) => {
            report.say(format!("\nOn a GPU: not run, because {error}"));
            return Ok(());
        }
    };
    let mut table = Table::new([left("kernel"), fixed("µs", 1), fixed("once, GB/s", 0)]);
    let mut run = |launch: &Launch| {
        let (values, seconds) = run(&device, launch, &compile(launch)?)?;
        let rate = launch.bytes() as f64 / seconds;
        table.row(json!([launch.kernel, 1e6 * seconds, 1e-9 * rate]));
        Ok(values)
    };
    let (hidden, most) = forward(answer, (64, 1024), report.seed(), |launch, _| run(launch))?;
    others(answer, &hidden, &mut run)?;
    chain(&hidden, &mut run)?;
    report.table("gpu", "On a GPU: 64 trees of 1,024 points", &table);
    report.say(format!(
        "\nThe results differ from candle's by at most {most:.1e}."
    ));
    Ok(())
}

/// The PTX of a kernel, or NVRTC's first error with file and line.
pub fn compile(launch: &Launch) -> Result<String, Error> {
    // For CUDA's own headers, which canopy's kernel includes.
    let toolkit = std::env::var("CUDA_HOME").unwrap_or("/usr/local/cuda".into());
    let options = CompileOptions {
        include_paths: vec![format!("{toolkit}/include")],
        name: Some(path(launch.kernel)),
        ..CompileOptions::default()
    };
    // cudarc panics if a text contains the character 0, which C++ compilers ignore.
    match compile_ptx_with_opts(launch.text.replace('\0', ""), options) {
        Ok(ptx) => Ok(ptx.to_src()),
        Err(CompileError::CompileError {
            nvrtc: NvrtcError(NVRTC_ERROR_COMPILATION),
            log,
            ..
        }) => {
            let log = log.to_string_lossy();
            // In `map.cu(6): error: …`, the place is written as the other messages have it, `map.cu:6`.
            let error = log.lines().find_map(|line| line.split_once("): error: "));
            let error = error.map(|(place, text)| format!("{}: {text}", place.replacen('(', ":", 1)));
            Err(Error::Wrong(error.unwrap_or(log.into_owned())))
        }
        Err(error) => Err(Error::NotRun(format!(
            "NVRTC cannot be used ({error}): is libnvrtc in LD_LIBRARY_PATH?"
        ))),
    }
}

/// Runs a launch several times, and returns the result and the mean of the times between two events of the stream, in seconds.
///
/// # Errors
/// Returns an error if the GPU fails.
pub fn run(device: &CudaDevice, launch: &Launch, ptx: &str) -> Result<(Vec<f32>, f64)> {
    let function = device.get_or_load_custom_func(launch.kernel, &launch.text, ptx)?;
    let function = function.into_cuda_function();
    let stream = device.cuda_stream();
    // A list of ints is copied as floats of identical bit patterns, and a number is passed by its bits.
    let bits = |list: &[i32]| list.iter().map(|&n| f32::from_bits(n as u32)).collect::<Vec<_>>();
    let (mut lists, mut numbers) = (Vec::new(), Vec::new());
    for argument in &launch.arguments {
        let (list, number) = match *argument {
            Argument::Floats(values) => (Some(stream.clone_htod(values).w()?), 0),
            Argument::Ints(values) => (Some(stream.clone_htod(&bits(values)).w()?), 0),
            Argument::Output(n) | Argument::IntOutput(n) => (Some(stream.alloc_zeros(n).w()?), 0),
            Argument::Int(n) => (None, n as u32),
            Argument::Float(value) => (None, value.to_bits()),
        };
        lists.push(list);
        numbers.push(number);
    }
    let ((x, y), (i, j)) = (launch.grid, launch.block);
    let config = LaunchConfig {
        grid_dim: (x, y, 1),
        block_dim: (i, j, 1),
        shared_mem_bytes: launch.shared as u32,
    };
    let queue = || -> Result<()> {
        let mut builder = stream.launch_builder(&function);
        for (list, number) in lists.iter().zip(&numbers) {
            match list {
                Some(list) => builder.arg(list),
                None => builder.arg(number),
            };
        }
        // SAFETY: the same kernel ran on the emulated grid, if with fewer elements, which checks its arguments and every access.
        unsafe { builder.launch(config) }.w()?;
        Ok(())
    };
    (0..REPEATS).try_for_each(|_| queue())?;
    let start = stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
    (0..REPEATS).try_for_each(|_| queue())?;
    let end = stream.record_event(Some(CU_EVENT_DEFAULT)).w()?;
    let seconds = f64::from(start.elapsed_ms(&end).w()?) * 1e-3 / REPEATS as f64;
    let is_output = |argument: &Argument| matches!(argument, Argument::Output(_));
    let output = launch.arguments.iter().position(is_output);
    let output = output.and_then(|at| lists[at].as_ref()).context("no output")?;
    Ok((stream.clone_dtoh(output).w()?, seconds))
}
