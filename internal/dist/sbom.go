package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// These types are the subset of CycloneDX 1.6 that makeSBOM writes.
type (
	bom struct {
		Schema       string          `json:"$schema"`
		Format       string          `json:"bomFormat"`
		Spec         string          `json:"specVersion"`
		Serial       string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     bomMetadata     `json:"metadata"`
		Components   []bomComponent  `json:"components"`
		Dependencies []bomDependency `json:"dependencies"`
	}
	bomMetadata struct {
		Timestamp string       `json:"timestamp"`
		Component bomComponent `json:"component"`
	}
	bomComponent struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Name       string        `json:"name"`
		Version    string        `json:"version"`
		Hashes     []bomHash     `json:"hashes,omitempty"`
		Licences   []bomLicence  `json:"licenses"`
		PURL       string        `json:"purl"`
		Properties []bomProperty `json:"properties,omitempty"`
	}
	bomHash struct {
		Algorithm string `json:"alg"`
		Content   string `json:"content"`
	}
	bomLicence struct {
		Licence bomID `json:"license"`
	}
	bomID struct {
		ID string `json:"id"`
	}
	bomProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	// bomDependency lists all components that the binary contains. It does not record how components depend
	// on each other.
	bomDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
)

// makeSBOM returns the software bill of materials for the binary.
func (r *release) makeSBOM(components []component) ([]byte, error) {
	sum := sha256.Sum256(r.binary)
	ref := purl("golang", "animalstore", r.info.Main.Version)
	all := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Serial: "urn:uuid:" + uuid(sum),
		Metadata: bomMetadata{r.time.UTC().Format(time.RFC3339), bomComponent{
			Type: "application", Ref: ref, Name: "animalstore", Version: r.version, PURL: ref,
			Hashes:   []bomHash{{"SHA-256", fmt.Sprintf("%x", sum)}},
			Licences: licencesOf([]string{"Apache-2.0"}),
			Properties: []bomProperty{
				{"animalstore:platform", r.platform.os + "/" + r.platform.arch},
				{"animalstore:go", r.info.GoVersion},
			},
		}},
	}
	own := bomDependency{Ref: ref}
	for _, p := range components {
		all.Components = append(all.Components, bomComponent{
			Type: "library", Ref: p.purl, Name: p.name, Version: p.version, PURL: p.purl, Licences: licencesOf(p.licenceIDs),
		})
		own.DependsOn = append(own.DependsOn, p.purl)
	}
	all.Dependencies = []bomDependency{own}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(all)
	return out.Bytes(), err
}

func licencesOf(ids []string) (licences []bomLicence) {
	for _, id := range ids {
		licences = append(licences, bomLicence{bomID{id}})
	}
	return licences
}

// uuid derives a version 8 UUID from the binary's checksum, so that the SBOM is reproducible.
func uuid(sum [sha256.Size]byte) string {
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
