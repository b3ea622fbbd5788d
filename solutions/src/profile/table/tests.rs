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

const LOG: &str = "\
==4242== NVPROF is profiling process 4242, command: ./train
==4242== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   80.00%  800.00us       300  2.6667us  1.8000us  2.4000us  void gemm<float, int=128>(float const *, int)
                   20.00%  200.00us        60  3.3333us  2.9000us  3.1000us  [CUDA memcpy HtoD]
      API calls:   99.00%  500.00ms         1  500.00ms  500.00ms  500.00ms  cudaMemcpy
                    1.00%  5.0000ms       300  16.667us  10.000us  90.000us  cudaLaunchKernel
";

#[test]
fn several_nsys_tables_are_read_as_one() {
    let table = KernelTable::parse(NSYS).unwrap();
    assert_eq!(table.rows.len(), 5);
    assert_eq!(
        table.rows[0].name,
        "void gemm<float, (int)128>(const float *, int)"
    );
    assert_eq!((table.rows[0].calls, table.rows[0].ns), (300, 600_000.0));
    assert_eq!(table.time(Activity::Kernel), 800_000.0);
    assert_eq!(table.time(Activity::Set), 10_000.0);
    assert_eq!(table.copy_share(), Some(0.19));
    assert_eq!(
        (table.transfers[0].count, table.transfers[0].bytes),
        (60, 23_593_000.0)
    );
}

#[test]
fn nvprofs_csv_and_log_agree() {
    let csv = KernelTable::parse(NVPROF).unwrap();
    let log = KernelTable::parse(LOG).unwrap();
    for table in [&csv, &log] {
        assert_eq!(table.rows.len(), 2, "the host's calls are not work of the device");
        assert!((table.copy_share().unwrap() - 0.2).abs() < 1e-12);
        assert_eq!(table.rows[1].calls, 60);
    }
    assert_eq!(csv.rows[0].name, log.rows[0].name);
}

#[test]
fn an_older_nvprof_without_types_is_read() {
    let text = "\
==1== Profiling result:
Time(%),Time,Calls,Avg,Min,Max,Name
%,us,,us,us,us,
75.0,30.0,3,10.0,9.0,11.0,saxpy(int)
25.0,10.0,1,10.0,10.0,10.0,[CUDA memcpy DtoH]

==1== API calls:
Time(%),Time,Calls,Avg,Min,Max,Name
%,ms,,ms,ms,ms,
100.0,90.0,1,90.0,90.0,90.0,cudaMalloc
";
    assert_eq!(KernelTable::parse(text).unwrap().copy_share(), Some(0.25));
}

#[test]
fn percentages_of_nested_spans_add_up_to_100() {
    let device = [
        Span::new("update", Kind::Kernel, 1, 0, 600),
        Span::new("add", Kind::Kernel, 1, 100, 300),
        Span::new("add", Kind::Kernel, 1, 300, 400),
        Span::new("to device", Kind::Copy, 1, 700, 900),
    ];
    let cells = kernel_cells(&device, &crate::profile::totals(&device));
    let column = |line: &Vec<String>| [line[0].clone(), line[1].clone(), line[4].clone()];
    let shown: Vec<_> = cells.iter().skip(1).map(column).collect();
    assert_eq!(
        shown,
        [
            ["37.5", "300", "add"],
            ["37.5", "300", "update"],
            ["25.0", "200", "[CUDA memcpy Host-to-Device]"]
        ]
    );
    assert_eq!(copy_share(&cells), Some(0.25));
}

#[test]
fn errors_name_the_row() {
    let said = |text: &str| format!("{:#}", KernelTable::parse(text).unwrap_err());
    assert!(said("").contains("nsys stats"));
    assert!(said("a,b,c\n1,2,3\n").contains("no table of kernels"));
    let e = said(&NSYS.replace("600000", "many"));
    assert!(e.contains("row 4") && e.contains("'many' is not a number"), "{e}");
    let e = said(&NVPROF.replace(",%,ms,", ",%,fortnights,"));
    assert!(e.contains("row 4") && e.contains("fortnights"), "{e}");
    let e = said(&LOG.replace("800.00us", "800.00xs"));
    assert!(e.contains("line 4") && e.contains("800.00xs"), "{e}");
    let e = said("Time (%),Total Time (ns),Instances,Name\n1,-5,2,x\n");
    assert!(e.contains("'-5'"), "{e}");
    let e = said("Time (%),Total Time (ns),Instances,Name\n1,5,2\n");
    assert!(e.contains("row 2") && e.contains("missing"), "{e}");
}

proptest! {
    #[test]
    fn no_file_panics_the_reader(text in "(?s).{0,300}", cut in 0usize..900, at in 0usize..900, byte: u8) {
        let _ = KernelTable::parse(&text);
        for whole in [NSYS, NVPROF, LOG] {
            let mut bytes = whole.as_bytes().to_vec();
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes.truncate(cut.max(1));
            let _ = KernelTable::parse(&String::from_utf8_lossy(&bytes));
        }
    }
}
