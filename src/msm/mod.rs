//! MSM.
