use anyhow::Result;

use super::Link;

/// Replaces `data` by its sum over all ranks, computed by rank 0 as a parameter server does: every rank sends its data to
/// rank 0, which adds them up and sends the sum back. Rank 0 transfers 2(p − 1) times the data for p ranks.
///
/// # Errors
/// Returns an error if a message cannot be sent or received.
pub fn naive_all_reduce(link: &dyn Link, data: &mut [f32]) -> Result<()> {
    let p = link.world_size();
    if link.rank() != 0 {
        link.send(0, data)?;
        return link.receive(0, data);
    }
    let mut incoming = vec![0.0; data.len()];
    for from in 1..p {
        link.receive(from, &mut incoming)?;
        for (sum, value) in data.iter_mut().zip(&incoming) {
            *sum += value;
        }
    }
    (1..p).try_for_each(|to| link.send(to, data))
}
