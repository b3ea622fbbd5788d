//! Ranks that meet over TCP, as processes do; here each is a thread of the test, so that its data can be at fault.

use std::{net::TcpListener, sync::atomic::AtomicBool, thread};

use canopy::train::{
    Config, Outcome,
    ranks::processes::{Followed, Guest, Host, Others, follow},
};

use crate::shapes::*;

/// What became of rank 0, its numbers at the end, and of the others.
type Ends = (Result<Vec<f32>, String>, Vec<Result<Followed, String>>);

/// A run of ranks of which rank 1 sees `source`.
fn apart(config: Config, source: Shapes) -> Ends {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let never = AtomicBool::new(false);
    let host = Host {
        listener,
        token: "t".into(),
        going: Box::new(|| Ok(())),
    };
    let mut first = trainer(&dir.path().join("0"), config.clone(), Shapes::default(), pieces());
    first.others = Others::Processes(host);
    let mut source = Some(source);
    let others: Vec<_> = (1..config.ranks)
        .map(|rank| {
            let source = source.take().unwrap_or_default();
            trainer(
                &dir.path().join(rank.to_string()),
                config.clone(),
                source,
                pieces(),
            )
        })
        .collect();
    thread::scope(|scope| {
        let (address, never) = (&address, &never);
        let others: Vec<_> = others
            .into_iter()
            .zip(1..)
            .map(|(trainer, rank)| {
                let guest = Guest {
                    rank,
                    address: address.clone(),
                    token: "t".into(),
                };
                scope.spawn(move || follow(trainer, &guest, never).map_err(|e| format!("{e:#}")))
            })
            .collect();
        let result = first.run(never).map_err(|e| format!("{e:#}"));
        let others = others.into_iter().map(|t| t.join().unwrap()).collect();
        (result.map(|_| numbers(&first, true)), others)
    })
}

#[test]
fn ranks_that_meet_over_tcp_take_the_steps_of_threads() {
    let threads = run(config(3), Shapes::default(), pieces()).unwrap();
    let (found, others) = apart(config(3), Shapes::default());
    assert!(found.unwrap() == numbers(&threads, true), "the bits differ");
    assert!(
        others
            .iter()
            .all(|o| matches!(o, Ok(Followed::Well(Outcome::Done))))
    );
}

#[test]
fn a_rank_that_fails_by_itself_is_told_of_by_rank_0_and_by_nobody_else() {
    let (record, source) = Shapes::one_unreadable();
    let (found, others) = apart(config(3), source);
    let said = found.unwrap_err();
    assert!(said.contains("rank 1 failed, in step 1, loading"), "{said}");
    assert!(said.contains(&format!("cloud {record}")), "{said}");
    assert!(
        others.iter().all(|o| matches!(o, Ok(Followed::Told))),
        "{others:?}"
    );
}
