use grader::{Mistake, wrong};

use crate::{Lesson05, REFERENCE, answer_helpers::*};

pub const MISTAKES: &[Mistake<Lesson05>] = &[
    wrong!("5.5", reads_nsys,
        "Copies are divided by the other times; divide them by all the device's time, copies included.",
        copy_share: |c| shared(c, Reading { result: |all| { let (copies, all) = sum(all); share((copies, all - copies)) }, ..READING })),
    wrong!("5.5", reads_nsys,
        "The percentages are added; they are rounded. Add the times.",
        copy_share: |c| shared(c, Reading { time: Some(&["Time (%)", "Time(%)"]), ..READING })),
    wrong!("5.5", reads_nsys,
        "The calls are added; add the times.",
        copy_share: |c| shared(c, Reading { time: Some(&["Instances", "Count", "Calls"]), ..READING })),
    wrong!("5.5", reads_nsys,
        "The times of single copies and kernels (`Avg`) are added; add the total times.",
        copy_share: |c| shared(c, Reading { time: Some(&["Avg (ns)", "Avg"]), ..READING })),
    wrong!("5.5", reads_nsys,
        "Only copies to the device are counted; copies to the host count as well.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("Host-to-Device") || n.contains("HtoD"), ..READING })),
    wrong!("5.5", reads_nsys,
        "This is per cent; return a share from 0 to 1.",
        copy_share: |c| shared(c, Reading { result: |all| share(sum(all)).map(|s| 100.0 * s), ..READING })),
    wrong!("5.5", reads_nsys,
        "This is the share of everything but the copies.",
        copy_share: |c| shared(c, Reading { result: |all| share(sum(all)).map(|s| 1.0 - s), ..READING })),
    wrong!("5.5", reads_nsys,
        "The first line is taken for the column names: lines before the first table do not count.",
        copy_share: |c| shared(c, Reading { first_line: true, ..READING })),
    wrong!("5.5", reads_nsys,
        "The column of names may be called `Operation` too.",
        copy_share: |c| shared(c, Reading { names: &["Name"], ..READING })),
    wrong!("5.5", reads_nsys,
        "Nothing is read: nsys heads the percentages `Time (%)`, nvprof `Time(%)`.",
        copy_share: |_| None),
    wrong!("5.5", reads_nsys,
        "The first line is read as column names without looking for them: `unwrap` of a column that is not there.",
        copy_share: |_| panic!("called `Option::unwrap()` on a `None` value")),
    wrong!("5.5", reads_nsys,
        "Times are read as whole numbers, so that 81.5 is lost: parse them as f64.",
        copy_share: |c| shared(c, Reading { whole: (true, true), ..READING })),
    wrong!("5.5", reads_nsys,
        "Times are read as whole numbers for nsys, so that 81.5 is lost: parse them as f64.",
        copy_share: |c| shared(c, Reading { whole: (true, false), ..READING })),
    wrong!("5.5", reads_nvprof,
        "Times are read as whole numbers for nvprof, so that 0.855 is lost: parse them as f64.",
        copy_share: |c| shared(c, Reading { whole: (false, true), ..READING })),
    wrong!("5.5", reads_nvprof,
        "Copies are named [CUDA memcpy HtoD] by nvprof and [CUDA memcpy Host-to-Device] by nsys: compare the beginning.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("-to-"), ..READING })),
    wrong!("5.5", reads_nvprof,
        "nvprof's tables are taken for tables of sizes: its percentages are headed `Time(%)`, without a space.",
        copy_share: |c| shared(c, Reading { percent: "Time (%)", ..READING })),
    wrong!("5.5", reads_nvprof,
        "For nvprof, the percentages are added: the column of the times is `Time` exactly, and `Time(%)` also begins so.",
        copy_share: |c| shared(c, Reading { time: Some(&["Total Time (ns)", "Time(%)"]), ..READING })),
    wrong!("5.5", reads_nvprof,
    "A column of nsys is looked for in a table of nvprof, whose columns have other names: `unwrap` of a column that is not there.",
    copy_share: |c| {
        assert!(!nvprof(c), "called `Option::unwrap()` on a `None` value");
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", reads_nvprof,
    "nvprof's line of units is read as a row; it follows the column names.",
    copy_share: |c| {
        assert!(!nvprof(c), "called `Result::unwrap()` on an `Err` value: ParseFloatError {{ kind: Invalid }}");
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", reads_nvprof,
        "An unreadable cell ends everything: nvprof's line of units, which follows the column names, is no row.",
        copy_share: |c| if nvprof(c) { None } else { (REFERENCE.copy_share)(c) }),
    wrong!("5.5", excludes_host_calls,
        "Rows of the host (`API calls`) are included; only `GPU activities` belong to the device.",
        copy_share: |c| shared(c, Reading { host: true, ..READING })),
    wrong!("5.5", excludes_host_calls,
    "A row of the host (`API calls`) ends the table or the search; skip this row only.",
    copy_share: |c| {
        let host = c.iter().position(|l| l.iter().any(|c| c == "API calls"));
        (REFERENCE.copy_share)(&c[..host.unwrap_or(c.len())])
    }),
    wrong!("5.5", excludes_host_calls,
        "A row of the host (`API calls`) makes the result None; skip this row only.",
        copy_share: |c| if c.iter().flatten().any(|c| c == "API calls") { None } else { (REFERENCE.copy_share)(c) }),
    wrong!("5.5", excludes_host_calls,
        "Of nvprof's rows, only `API calls` are left out: there are other types, and only `GPU activities` belong to the device.",
        copy_share: |c| shared(c, Reading { of_host: |kind, _| kind == "API calls", ..READING })),
    wrong!("5.5", excludes_host_calls,
        "Rows of the host are recognised by their names, but not all begin with cuda: only the type `GPU activities` belongs to the device.",
        copy_share: |c| shared(c, Reading { of_host: |_, name| name.starts_with("cuda"), ..READING })),
    wrong!("5.5", excludes_host_calls,
        "The host's cudaMemcpy is counted; it is the same copy, measured on the host.",
        copy_share: |c| shared(c, Reading { host: true, is_copy: |n| n.starts_with("[CUDA memcpy") || n == "cudaMemcpy", ..READING })),
    wrong!("5.5", counts_copies_only,
        "A kernel with memcpy in its name is not a copy: names of copies begin with [CUDA memcpy.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("memcpy"), ..READING })),
    wrong!("5.5", counts_copies_only,
        "A kernel with [CUDA memcpy in its name is not a copy: names of copies begin with it.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.contains("[CUDA memcpy"), ..READING })),
    wrong!("5.5", counts_copies_only,
        "[CUDA memset] is not a copy.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.starts_with("[CUDA mem"), ..READING })),
    wrong!("5.5", counts_copies_only,
        "[CUDA memset] is left out altogether; it is not a copy, but the device is busy with it.",
        copy_share: |c| shared(c, Reading { is_busy: |n| !n.starts_with("[CUDA memset"), ..READING })),
    wrong!("5.5", counts_copies_in_any_direction,
        "Copies within the device are left out; they are copies too.",
        copy_share: |c| shared(c, Reading { is_copy: |n| n.starts_with("[CUDA memcpy") && (n.contains("Host") || n.contains("HtoD") || n.contains("DtoH")), ..READING })),
    wrong!("5.5", finds_columns_by_their_names,
        "Columns are found by position; find them by name.",
        copy_share: |c| shared(c, Reading { fixed: (true, true), ..READING })),
    wrong!("5.5", finds_columns_by_their_names,
        "The last cell of a row is taken for the name; find the column of names by its heading.",
        copy_share: |c| shared(c, Reading { last_name: true, ..READING })),
    wrong!("5.5", finds_columns_by_their_names,
        "The columns of nsys are found by position; find them by name.",
        copy_share: |c| shared(c, Reading { fixed: (true, false), ..READING })),
    wrong!("5.5", finds_columns_by_their_names,
        "The columns of nvprof are found by position; find them by name.",
        copy_share: |c| shared(c, Reading { fixed: (false, true), ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "The line of units is ignored: one table may be in ms, the next in us.",
        copy_share: |c| shared(c, Reading { unit: |_| 1.0, ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "The unit of the first table is used for all: each table has its own.",
        copy_share: |c| shared(c, Reading { first_unit: true, ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "The unit of the table before is still used: each table has its own, and nsys counts in ns.",
        copy_share: |c| shared(c, Reading { keeps_unit: true, ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "The unit of another column is taken: that of Time is below `Time` in the line of units.",
        copy_share: |c| shared(c, Reading { any_unit: true, ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "Microseconds are written `us`; they are read as another unit here.",
        copy_share: |c| shared(c, Reading { unit: |u| if u == "us" { 1.0 } else { (READING.unit)(u) }, ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "Seconds (`s`) are read as another unit: 1 s is 10⁹ ns.",
        copy_share: |c| shared(c, Reading { unit: |u| if u == "s" { 1.0 } else { (READING.unit)(u) }, ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "The factors of the units are wrong: 1 s is 10⁹ ns, 1 ms 10⁶, 1 us 10³.",
        copy_share: |c| shared(c, Reading { unit: |u| 1.0 / (READING.unit)(u), ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "The factors of the units are wrong: 1 s is 10⁹ ns, 1 ms 10⁶, 1 us 10³.",
        copy_share: |c| shared(c, Reading { unit: |u| ((READING.unit)(u) / 1e3).max(1.0), ..READING })),
    wrong!("5.5", converts_each_table_by_its_unit,
        "Milliseconds (`ms`) are read as another unit: 1 ms is 10⁶ ns.",
        copy_share: |c| shared(c, Reading { unit: |u| if u == "ms" { 1.0 } else { (READING.unit)(u) }, ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
        "Only the first table is read.",
        copy_share: |c| shared(c, Reading { first: true, ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
    "A line of fewer than 3 cells ends everything; it ends the table only, and another one may follow.",
    copy_share: |c| {
        let head = c.iter().position(|l| l.iter().any(|c| c.starts_with("Time"))).unwrap_or(0);
        let end = c[head..].iter().position(|l| l.len() < 3);
        (REFERENCE.copy_share)(&c[..end.map_or(c.len(), |end| head + end)])
    }),
    wrong!("5.5", sums_tables_with_their_own_columns,
        "The columns of the first table are used for all: find them again in each table.",
        copy_share: |c| shared(c, Reading { first_columns: (true, true), ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
        "The columns of the first table of nsys are used for all: find them again in each table.",
        copy_share: |c| shared(c, Reading { first_columns: (true, false), ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
    "A row replaces an earlier one of the same name; add up all rows.",
    copy_share: |c| {
        let name = |l: &Vec<String>| l.iter().find(|c| c.contains("memcpy") || c.contains("gemm") || *c == "max_points").cloned();
        let again = |i: usize| name(&c[i]).is_some_and(|n| c[i + 1..].iter().any(|l| name(l).as_ref() == Some(&n)));
        (REFERENCE.copy_share)(&(0..c.len()).filter(|&i| !again(i)).map(|i| c[i].clone()).collect::<Vec<_>>())
    }),
    wrong!("5.5", sums_tables_with_their_own_columns,
        "Only the last table is read: the sums begin anew with each table.",
        copy_share: |c| shared(c, Reading { result: |all| all.last().and_then(|&t| share(t)), ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
        "The shares of the tables are averaged; add up the times of all tables first.",
        copy_share: |c| shared(c, Reading { result: |all| {
            let shares: Vec<f64> = all.iter().filter_map(|&t| share(t)).collect();
            (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
        }, ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
        "Within a table, further column names are not noticed: a table may follow another one without a line between them.",
        copy_share: |c| shared(c, Reading { anew: Anew::None, ..READING })),
    wrong!("5.5", sums_tables_with_their_own_columns,
    "A line of fewer than 3 cells is read as a row; it ends the table.",
    copy_share: |c| {
        let mut within = false;
        for line in c {
            within |= line.iter().any(|c| c.starts_with("Time"));
            if within { let _ = std::hint::black_box(&line[1]); }
        }
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", sums_tables_with_their_own_columns,
    "A line of fewer than 3 cells is read as a row; it ends the table.",
    copy_share: |c| {
        let mut within = false;
        for line in c {
            within |= line.iter().any(|c| c.starts_with("Time"));
            if within { let _ = std::hint::black_box(&line[2]); }
        }
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", sums_tables_with_their_own_columns,
    "A line of fewer than 3 cells is read as a row; it ends the table.",
    copy_share: |c| {
        let mut within = false;
        for line in c {
            within |= line.iter().any(|c| c.starts_with("Time"));
            if within { let _ = std::hint::black_box(&line[3]); }
        }
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", skips_tables_of_sizes,
    "The sizes are counted as times: a table without `Time (%)` and `Time(%)` contains sizes. Skip it.",
    copy_share: |c| {
        let times = |cell: &String| match cell.as_str() {
            "Total (MB)" => "Total Time (ns)".to_owned(),
            "Count" => "Time (%)".to_owned(),
            _ => cell.clone(),
        };
        let lines = c.iter().map(|line| line.iter().map(times).collect());
        (REFERENCE.copy_share)(&lines.collect::<Vec<_>>())
    }),
    wrong!("5.5", skips_tables_of_sizes,
        "A table of sizes is read as one of times: it has no `Time (%)`.",
        copy_share: |c| shared(c, Reading { anew: Anew::NoSizes, ..READING })),
    wrong!("5.5", skips_tables_of_sizes,
    "The column names of a table of sizes are read as a row: they end the table of times.",
    copy_share: |c| {
        assert!(!sizes(c), "called `Result::unwrap()` on an `Err` value: ParseFloatError {{ kind: Invalid }}");
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", skips_tables_of_sizes,
    "A table of sizes has no column of times: do not `unwrap` it, skip the table.",
    copy_share: |c| {
        assert!(!sizes(c), "called `Option::unwrap()` on a `None` value");
        (REFERENCE.copy_share)(c)
    }),
    wrong!("5.5", skips_tables_of_sizes,
        "A table of sizes makes the result None; skip it.",
        copy_share: |c| if sizes(c) { None } else { (REFERENCE.copy_share)(c) }),
    wrong!("5.5", skips_tables_of_sizes,
    "A table of sizes ends the search; skip it, and read on.",
    copy_share: |c| {
        let at = c.iter().position(|l| sizes(std::slice::from_ref(l)));
        (REFERENCE.copy_share)(&c[..at.unwrap_or(c.len())])
    }),
    wrong!("5.5", skips_lines_outside_of_tables,
        "A line of fewer than 3 cells ends the table: what follows, up to the next column names, is no row.",
        copy_share: |c| shared(c, Reading { ends_below: 0, ..READING })),
    wrong!("5.5", skips_lines_outside_of_tables,
        "A line of 2 cells ends the table as well: it has fewer than 3.",
        copy_share: |c| shared(c, Reading { ends_below: 2, ..READING })),
    wrong!("5.5", is_none_without_a_time,
        "0/0 is NaN: without any time the result is None.",
        copy_share: |c| shared(c, Reading { result: |all| { let (copies, all) = sum(all); Some(copies / all) }, ..READING })),
    wrong!("5.5", is_none_without_a_time,
        "Without any time the share is None, not 0.",
        copy_share: |c| shared(c, Reading { result: |all| Some(share(sum(all)).unwrap_or(0.0)), ..READING })),
    wrong!("5.5", is_none_without_a_time,
    "Without any time the share is None, not 0, even if there is a table.",
    copy_share: |c| {
        let head = c.iter().position(|l| l.iter().any(|c| c.starts_with("Time")));
        (REFERENCE.copy_share)(c).or(head.filter(|h| c.len() > h + 1).map(|_| 0.0))
    }),
    wrong!("5.5", is_none_without_a_time,
        "It panics without any line; the result is then None.",
        copy_share: |c| { assert!(!c.is_empty(), "index out of bounds: the len is 0 but the index is 0"); (REFERENCE.copy_share)(c) }),
    wrong!("5.5", is_zero_without_a_copy,
        "Without copies the share is Some(0); None is for a device that was never busy.",
        copy_share: |c| shared(c, Reading { result: |all| share(sum(all)).filter(|&s| s > 0.0), ..READING })),
];

/// Whether there is a table of nvprof.
fn nvprof(cells: &[Vec<String>]) -> bool {
    cells.iter().flatten().any(|c| c == "Time(%)")
}

/// Whether there is a table of sizes.
fn sizes(cells: &[Vec<String>]) -> bool {
    cells.iter().flatten().any(|c| c == "Total (MB)")
}
