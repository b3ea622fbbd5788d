use anyhow::Result;

use super::Link;

/// Replaces `data` by its sum over all ranks by way of rank 0, as a parameter server does: all send to it, it adds and
/// sends back. Rank 0 carries 2(p − 1) times the data.
///
/// # Errors
/// The link's.
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
