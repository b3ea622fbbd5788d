//! Clouds without extent: their shape cannot be seen, and they cannot be scaled to the unit sphere. A file may be so
//! because of a faulty export or because one point is left of a tree.

use std::{collections::BTreeMap, sync::Arc};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::{Cloud, CloudSource, Dataset, TreeRecord, shard};

/// The clouds without extent of a data set. A run that never sees them keeps this, to recognise the set when their files
/// were removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Degenerate {
    /// The digest of the set.
    digest: String,
    /// The digest of the set without these clouds.
    rest: String,
    /// The trees, ascending by index.
    trees: Vec<Tree>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Tree {
    index: usize,
    record: TreeRecord,
    points: usize,
}

impl Dataset {
    /// The indices of the records whose clouds have no extent. Of the other clouds, only the first points are read.
    ///
    /// # Errors
    /// Names the cloud that could not be read.
    pub fn degenerate(&self) -> Result<Vec<usize>> {
        let mut found = Vec::new();
        for index in 0..self.len() {
            if !self.has_extent(index)? {
                found.push(index);
            }
        }
        Ok(found)
    }
}

impl Degenerate {
    /// The clouds without extent of `data`; `None` if there are none. Otherwise reads every cloud, for the digest.
    ///
    /// # Errors
    /// Names the cloud that could not be read.
    pub fn of(data: &Dataset) -> Result<Option<Self>> {
        let degenerate = data.degenerate()?;
        if degenerate.is_empty() {
            return Ok(None);
        }
        let tree = |index: usize| {
            let (record, points) = (data.records[index].clone(), data.cloud(index)?.len());
            Ok(Tree {
                index,
                record,
                points,
            })
        };
        Ok(Some(Self {
            digest: data.digest.clone(),
            rest: digest_without(data, &degenerate)?,
            trees: degenerate.into_iter().map(tree).collect::<Result<_>>()?,
        }))
    }

    /// The trees that `data` lacks, with their sources.
    pub fn lost(&self, data: &Dataset) -> Vec<String> {
        let name = |r: &TreeRecord| format!("{} ({})", r.tree, r.source);
        let names = self.trees.iter().map(|t| name(&t.record));
        names
            .filter(|lost| data.records.iter().all(|r| name(r) != *lost))
            .collect()
    }

    /// The set as it was, given `data`, which may lack these clouds: points at the origin take their places, so that every
    /// other record has its index and every split is the same. `None` if anything else differs.
    ///
    /// # Errors
    /// Names the cloud that could not be read.
    pub fn restore(&self, data: &Dataset) -> Result<Option<Dataset>> {
        if self.digest == data.digest {
            return Ok(Some(data.clone()));
        }
        let degenerate = data.degenerate()?;
        if digest_without(data, &degenerate)? != self.rest {
            return Ok(None);
        }
        let rest = data.without(&degenerate);
        let mut records = rest.records.to_vec();
        for tree in &self.trees {
            records.insert(tree.index, tree.record.clone());
        }
        let points = self.trees.iter().map(|t| (t.index, t.points)).collect();
        let (name, species) = (data.name.clone(), data.species.clone());
        let source = Arc::new(Restored { rest, points });
        Ok(Some(Dataset::new(
            name,
            species,
            records,
            self.digest.clone(),
            source,
        )))
    }
}

fn digest_without(data: &Dataset, degenerate: &[usize]) -> Result<String> {
    shard::digest(&data.without(degenerate))
}

/// A set in which points at the origin stand for clouds without extent.
#[derive(Debug)]
struct Restored {
    rest: Dataset,
    /// Points of these clouds, by index.
    points: BTreeMap<usize, usize>,
}

impl Restored {
    fn index_in_rest(&self, index: usize) -> usize {
        index - self.points.range(..index).count()
    }
}

impl CloudSource for Restored {
    fn cloud(&self, index: usize) -> Result<Cloud> {
        match self.points.get(&index) {
            Some(&n) => Ok(Cloud::from_points(vec![[0.0; 3]; n])),
            None => self.rest.cloud(self.index_in_rest(index)),
        }
    }

    fn has_extent(&self, index: usize) -> Result<bool> {
        match self.points.contains_key(&index) {
            true => Ok(false),
            false => self.rest.has_extent(self.index_in_rest(index)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records of `names`; those that start with `flat` have no extent.
    fn set(names: &[&str]) -> Dataset {
        let record = |name: &&str| TreeRecord {
            tree: (*name).into(),
            ..TreeRecord::default()
        };
        let cloud = |name: &&str| match name.strip_prefix("flat") {
            Some(_) => Cloud::from_points(vec![[3.0; 3]; name.len()]),
            None => Cloud::from_points(name.bytes().map(|b| [f32::from(b), 0.0, 1.0]).collect()),
        };
        let clouds: Vec<Cloud> = names.iter().map(cloud).collect();
        let records = names.iter().map(record).collect();
        let mut set = Dataset::of_clouds(clouds);
        set.records = Arc::new(records);
        set.digest = shard::digest(&set).unwrap();
        set
    }

    #[test]
    fn a_set_that_lost_such_clouds_and_no_others_has_all_others_at_their_old_places() {
        let whole = set(&["flat1", "ab", "cd", "flat22", "flat3", "ef", "flat4"]);
        let kept = Degenerate::of(&whole).unwrap().unwrap();
        for left in [&["ab", "cd", "ef"][..], &["ab", "flat22", "cd", "ef"]] {
            let restored = kept.restore(&set(left)).unwrap().unwrap();
            assert_eq!(restored.records, whole.records);
            assert_eq!(restored.digest, whole.digest);
            assert_eq!(restored.degenerate().unwrap(), [0, 3, 4, 6]);
            assert_eq!(restored.cloud(3).unwrap().len(), 6);
            for i in [1, 2, 5] {
                assert_eq!(restored.cloud(i).unwrap(), whole.cloud(i).unwrap());
            }
        }
        let lost = kept.lost(&set(&["ab", "flat22"]));
        assert_eq!(lost, ["flat1 ()", "flat3 ()", "flat4 ()"]);
        for other in [
            &["ab"][..],
            &["cd", "ab"],
            &["ab", "cd", "ef", "gh"],
            &["ab", "cx", "ef"],
        ] {
            assert!(kept.restore(&set(other)).unwrap().is_none());
        }
        assert_eq!(Degenerate::of(&set(&["ab", "cd"])).unwrap(), None);
    }
}
