//! Tables with the documented columns of both tools, invented for these tests, and damaged ones.

use proptest::prelude::*;

use super::*;

const NSYS: &str = "\
Generating SQLite file run.sqlite from run.nsys-rep
Processing [run.sqlite] with [cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,600000,300,2000.0,1990.0,1800,2400,55.1,\"void gemm<float, (int)128>(const float *, int)\"
25.0,200000,100,2000.0,2000.0,1900,2100,20.0,max_points

Processing [run.sqlite] with [cuda_gpu_mem_time_sum.py]...
Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
90.0,180000,60,3000.0,3000.0,2900,3100,30.0,[CUDA memcpy Host-to-Device]
5.0,10000,10,1000.0,1000.0,900,1100,10.0,[CUDA memcpy Device-to-Host]
5.0,10000,20,500.0,500.0,400,600,10.0,[CUDA memset]

Processing [run.sqlite] with [cuda_gpu_mem_size_sum.py]...
Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
23.593,60,0.393,0.393,0.393,0.393,0.000,[CUDA memcpy Host-to-Device]
";

const NVPROF: &str = "\
==4242== NVPROF is profiling process 4242, command: ./train
==4242== Profiling result:
\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"
,%,ms,,us,us,us,
\"GPU activities\",80.0,0.8,300,2.6,1.8,2.4,\"void gemm<float, int=128>(float const *, int)\"
\"GPU activities\",20.0,0.2,60,3.3,2.9,3.1,\"[CUDA memcpy HtoD]\"
\"API calls\",99.0,500.0,1,500000.0,500000.0,500000.0,\"cudaMemcpy\"
";

#[test]
fn the_tables_of_both_tools_are_read() {
    let rows = kernel_rows(NSYS).unwrap();
    assert_eq!(rows.len(), 5, "three tables, of which one has sizes only");
    assert_eq!(rows[0].name, "void gemm<float, (int)128>(const float *, int)");
    assert_eq!((rows[0].calls, rows[0].ns), (300, 600_000.0));
    assert_eq!(time_share(&rows, Activity::Copy), Some(0.19));
    assert_eq!(time_share(&rows, Activity::Set), Some(0.01));

    let rows = kernel_rows(NVPROF).unwrap();
    assert_eq!(rows.len(), 2, "the host's calls are not work of the device");
    assert_eq!((rows[0].calls, rows[0].ns), (300, 800_000.0));
    assert!((time_share(&rows, Activity::Copy).unwrap() - 0.2).abs() < 1e-12);
}

#[test]
fn errors_name_the_row() {
    let header = "Time (%),Total Time (ns),Instances,Name\n";
    for (text, parts) in [
        (String::new(), vec!["nsys stats"]),
        ("a,b,c\n1,2,3\n".into(), vec!["no table of kernels"]),
        (
            NSYS.replace("600000", "many"),
            vec!["row 4", "'many' is not a number"],
        ),
        (
            NVPROF.replace(",%,ms,", ",%,fortnights,"),
            vec!["row 4", "fortnights"],
        ),
        (format!("{header}1,-5,2,x\n"), vec!["'-5'"]),
        (format!("{header}1,5,2\n"), vec!["row 2", "missing"]),
    ] {
        let said = format!("{:#}", kernel_rows(&text).unwrap_err());
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
}

proptest! {
    #[test]
    fn no_file_panics_the_reader(text in "(?s).{0,300}", cut in 0usize..900, at in 0usize..900, byte: u8) {
        let _ = kernel_rows(&text);
        for whole in [NSYS, NVPROF] {
            let mut bytes = whole.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut.max(1));
            let _ = kernel_rows(&String::from_utf8_lossy(&bytes));
        }
    }
}
