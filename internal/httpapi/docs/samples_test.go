package docs

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"animalstore/api"
	"animalstore/api/apitest"
	"animalstore/internal/apidocs"
	"animalstore/internal/shoptest"
)

// Every sample in the reference works when it is copied: the samples in curl, Python and TypeScript run against the
// service, in the order of the OpenAPI document. Each language has its own store.
func TestSamplesRun(t *testing.T) {
	t.Parallel()
	t.Run("curl", func(t *testing.T) {
		t.Parallel()
		runSamples(t, "curl", "sh", t.TempDir(), strictCurl+"source ./FILE.sh")
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		runSamples(t, "python", "py", t.TempDir(), "python3 -W error FILE.py")
	})
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		installTypeScript(t, dir)
		url := writeSamples(t, "typescript", "ts", dir)
		if output, err := shell(t, dir, "node_modules/.bin/tsc --strict --noUnusedLocals --moduleDetection force --target es2022 --module nodenext --types node *.ts"); err != nil {
			t.Fatalf("tsc: %v\n%s", err, output)
		}
		sendSamples(t, "typescript", dir, "node FILE.js", url)
	})
}

// All samples in Go pass go vet. The sample for createPet, which sends a body, also runs successfully.
func TestGoSamplesCompile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := writeSamples(t, "go", "go", dir)
	files := shoptest.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	for _, file := range files { // each sample is a complete program
		program := strings.TrimSuffix(file, ".go")
		shoptest.OK(t, os.Mkdir(program, 0o700))
		shoptest.OK(t, os.Rename(file, filepath.Join(program, "main.go")))
	}
	shoptest.OK(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module samples\n\ngo 1.26\n"), 0o600))
	output, err := shell(t, dir, "test -z \"$(gofmt -l . | tee /dev/stderr)\" && go vet ./... && go run ./createPet", "GOWORK=off", "GOFLAGS=")
	if err != nil || !strings.Contains(output, "201 Created") || !strings.Contains(output, `"name":"Rex"`) {
		t.Errorf("%s: got %v, %s, want 201 and the animal", url, err, output)
	}
}

// writeSamples starts a service with an empty store, writes the samples in one language into a folder, and returns the
// URL of the service's API. The samples send their requests to this service.
func writeSamples(t *testing.T, language, extension, dir string) (url string) {
	t.Helper()
	s := shoptest.Open(t, shoptest.Options{})
	url = shoptest.Serve(t, newAPI(t, s)).URL + "/v1"
	for _, sample := range shoptest.Must(apidocs.Load())(t).Samples {
		if sample.Language == language {
			path := filepath.Join(dir, sample.Operation+"."+extension)
			shoptest.OK(t, os.WriteFile(path, []byte(sample.Fill(url, shoptest.AdminKey)+"\n"), 0o600))
		}
	}
	return url
}

func runSamples(t *testing.T, language, extension, dir, command string) {
	t.Helper()
	sendSamples(t, language, dir, command, writeSamples(t, language, extension, dir))
}

// sendSamples runs the samples one after another. After each sample, it sends the operation's other examples, because
// later operations need the resources that those examples create.
func sendSamples(t *testing.T, language, dir, command, url string) {
	t.Helper()
	examples := shoptest.Must(apitest.Examples(api.Source()))(t)
	for _, sample := range shoptest.Must(apidocs.Load())(t).Samples {
		if sample.Language != language {
			continue
		}
		output, err := shell(t, dir, strings.ReplaceAll(command, "FILE", sample.Operation))
		if err != nil {
			t.Errorf("%s: got %v, %s, want no error\n%s", sample.Operation, err, output, sample.Code)
		}
		first := true
		for _, example := range examples {
			if operation, _, _ := strings.Cut(example.Name, " "); operation != sample.Operation || example.Body == "" {
				continue
			}
			if first {
				first = false
				continue
			}
			request := shoptest.Must(http.NewRequestWithContext(t.Context(), example.Method, url+example.Path, strings.NewReader(example.Body)))(t)
			request.Header = example.Header
			request.Header.Set("Authorization", "Bearer "+shoptest.AdminKey)
			response := shoptest.Must(http.DefaultClient.Do(request))(t)
			if response.Body.Close(); response.StatusCode >= 300 {
				t.Errorf("%s: got %s, want no error", example.Name, response.Status)
			}
		}
	}
}
