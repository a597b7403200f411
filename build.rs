//! Builds anew when a migration changes: the files are embedded in the binary.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
