package docs

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
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
		dir := t.TempDir()
		url := writeSamples(t, "curl", "sh", dir)
		sendSamples(t, "curl", url, func(operation string) (string, error) {
			return shell(t, dir, strictCurl+"source ./"+operation+".sh")
		})
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		url := writeSamples(t, "python", "py", dir)
		sendSamples(t, "python", url, interpreter(t, dir, "python3", "-W", "error", "-c", `
import runpy, sys
for line in sys.stdin:
    runpy.run_path(line.strip() + ".py", run_name="__main__")
    print("\ndone", flush=True)
`))
	})
	t.Run("typescript", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		installTypeScript(t, dir)
		url := writeSamples(t, "typescript", "ts", dir)
		if output, err := shell(t, dir, "node_modules/.bin/tsc --strict --noUnusedLocals --moduleDetection force --target es2022 --module nodenext --types node *.ts"); err != nil {
			t.Fatalf("tsc: %v\n%s", err, output)
		}
		shoptest.OK(t, os.WriteFile(filepath.Join(dir, "interpreter.js"), []byte(`
import { createInterface } from "node:readline";
for await (const name of createInterface({ input: process.stdin })) {
	await import("./" + name + ".js");
	console.log("\ndone");
}
`), 0o600))
		sendSamples(t, "typescript", url, interpreter(t, dir, "node", "interpreter.js"))
	})
}

// interpreter starts a program that reads the names of samples from its standard input, runs each sample, and prints a
// line with the word done after it. It returns a function that runs one sample. Starting a program for each sample would
// take most of the time.
func interpreter(t *testing.T, dir, name string, args ...string) func(operation string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "no_proxy=*")
	input := shoptest.Must(command.StdinPipe())(t)
	output := shoptest.Must(command.StdoutPipe())(t)
	command.Stderr = command.Stdout
	shoptest.OK(t, command.Start())
	t.Cleanup(func() {
		input.Close()
		command.Wait()
	})
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	return func(operation string) (printed string, err error) {
		if _, err := fmt.Fprintln(input, operation); err != nil {
			return "", err
		}
		for lines.Scan() {
			if lines.Text() == "done" {
				return printed, nil
			}
			printed += lines.Text() + "\n"
		}
		return printed, errors.New("the program has ended")
	}
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
	for name, content := range shoptest.Must(apitest.ExampleImages())(t) {
		shoptest.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	for _, sample := range shoptest.Must(apidocs.Load())(t).Samples {
		if sample.Language == language {
			path := filepath.Join(dir, sample.Operation+"."+extension)
			shoptest.OK(t, os.WriteFile(path, []byte(sample.Fill(url, shoptest.AdminKey)+"\n"), 0o600))
		}
	}
	return url
}

// sendSamples runs the samples one after another. After each sample, it sends the operation's other examples, because
// later operations need the resources that those examples create.
func sendSamples(t *testing.T, language, url string, run func(operation string) (output string, err error)) {
	t.Helper()
	examples := shoptest.Must(apitest.Examples(api.Source()))(t)
	for _, sample := range shoptest.Must(apidocs.Load())(t).Samples {
		if sample.Language != language {
			continue
		}
		output, err := run(sample.Operation)
		if err != nil {
			t.Fatalf("%s: got %v, %s, want no error\n%s", sample.Operation, err, output, sample.Code)
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
