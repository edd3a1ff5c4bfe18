// Package version contains the version of the release.
package version

// Number is the version of the release that this code becomes, or is. It stands at the top of CHANGELOG.md, too.
const Number = "1.1.0"
