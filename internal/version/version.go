// Package version contains the version of the release.
package version

// Number is the version of the release that this code belongs to. The first section of CHANGELOG.md has the same
// number.
const Number = "1.2.0"
