package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// component is a third-party module or package that the binary contains.
type component struct {
	name, version string
	purl          string // the package URL, which vulnerability scanners use
	licenceIDs    []string
	licences      []licenceFile
}

// embedded lists the npm packages whose files are embedded in the binary. The README in each folder must list
// the same versions.
var embedded = []struct{ name, version, dir, licences string }{
	{"htmx.org", "2.0.11", "internal/staff/static/vendor", "htmx.*"},
}

// listComponents returns the components of a binary: the Go standard library, the linked modules and the
// embedded npm packages.
func listComponents(info *debug.BuildInfo) ([]component, error) {
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []component{{name: "stdlib", version: goVersion, purl: "pkg:golang/stdlib@" + goVersion}}
	args := []string{"list", "-m", "-f", "{{.Dir}}"}
	for _, module := range info.Deps {
		components = append(components, component{name: module.Path, version: module.Version, purl: purl("golang", module.Path, module.Version)})
		args = append(args, module.Path)
	}
	found, err := output("go", args...)
	if err != nil {
		return nil, err
	}
	dirs := strings.Split(strings.TrimSpace(root+found), "\n")
	if len(dirs) != len(components) {
		return nil, fmt.Errorf("go list found %d of %d modules", len(dirs)-1, len(components)-1)
	}
	for i := range components {
		if components[i].licences, err = readLicenceFiles(dirs[i], i == 0); err != nil {
			return nil, err
		}
	}
	for _, e := range embedded {
		one := component{name: e.name, version: e.version, purl: purl("npm", e.name, e.version)}
		names, err := filepath.Glob(filepath.Join(e.dir, e.licences))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !isLicence.MatchString(filepath.Base(name)) {
				continue
			}
			content, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			one.licences = append(one.licences, licenceFile{filepath.Base(name), string(content)})
		}
		components = append(components, one)
	}
	for i := range components {
		if components[i].licenceIDs = identifyLicences(components[i].licences); len(components[i].licenceIDs) == 0 {
			return nil, fmt.Errorf("the licence of %s is unknown: review it before publishing", components[i].name)
		}
	}
	return components, nil
}

// purl returns the package URL for a component.
func purl(kind, name, version string) string {
	escape := strings.NewReplacer("@", "%40", "+", "%2B")
	return "pkg:" + kind + "/" + escape.Replace(name) + "@" + escape.Replace(version)
}

func output(name string, args ...string) (string, error) {
	command := exec.Command(name, args...)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	return string(out), nil
}
