//! Data sets without the clouds that have no extent. A file may be so because of a faulty export or because one point is left of
//! a tree.

use anyhow::{Result, ensure};

use crate::{Dataset, shard};

impl Dataset {
    /// The set as if the files of its clouds without extent were removed, and the records of those clouds. Its digest is that
    /// of the other clouds, which are read for it if there are such clouds.
    ///
    /// # Errors
    /// Returns an error if no cloud is left, and names a cloud that could not be read.
    pub fn with_extent(&self) -> Result<(Self, Vec<usize>)> {
        let degenerate = self.degenerate()?;
        if degenerate.is_empty() {
            return Ok((self.clone(), degenerate));
        }
        ensure!(
            degenerate.len() < self.len(),
            "{}: no cloud has an extent, so nothing can be learnt from them",
            self.name
        );
        let kept = (0..self.len()).filter(|i| degenerate.binary_search(i).is_err());
        let mut rest = self.view(kept.collect(), |_, cloud| Ok(cloud));
        rest.digest = shard::digest(&rest)?;
        Ok((rest, degenerate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cloud;

    #[test]
    fn a_set_without_clouds_that_have_no_extent_is_that_of_the_others() {
        let flat = || Cloud::from_points(vec![[3.0; 3]; 4]);
        let other = |x: f32| Cloud::from_points(vec![[x, 0.0, 1.0], [0.0, x, 2.0]]);
        let whole = Dataset::of_clouds(vec![other(1.0), flat(), other(2.0), flat(), other(3.0)]);
        let (rest, without) = whole.with_extent().unwrap();
        assert_eq!(without, [1, 3]);
        let trees: Vec<&str> = rest.records.iter().map(|r| &*r.tree).collect();
        assert_eq!(trees, ["t0", "t2", "t4"]);
        assert_eq!(rest.cloud(1).unwrap(), other(2.0));
        assert_eq!(rest.digest, shard::digest(&rest).unwrap());
        assert_eq!(rest.with_extent().unwrap().0.digest, rest.digest);
        let none = Dataset::of_clouds(vec![flat()]).with_extent().unwrap_err();
        assert!(none.to_string().contains("no cloud has an extent"), "{none}");
    }
}
