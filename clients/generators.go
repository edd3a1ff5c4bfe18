package main

// generator describes how to generate a client and how to test it. The generator's folder in clients contains the
// scenario program and the files that pin the versions of its libraries.
//
// The commands are shell scripts. They run in a temporary folder, which contains a copy of the generator's folder and
// everything that the install commands have created. In commands, http://127.0.0.1:8080 stands for the address of the
// service. The scenario reads the base URL from ANIMALSTORE_URL and an admin key from ANIMALSTORE_KEY. docs/clients.md
// shows the same commands.
type generator struct {
	folder    string
	generator string   // name and version
	install   []string // each command runs only once, because the files that it creates are kept in the user's cache
	generate  string   // this command must print no warning
	compile   string
	run       string // this command must exit with code 0
	prism     bool   // whether the scenario runs a second time through Prism, with PRISM=1 in its environment
	example   string // a file in the examples folder that the scenario also uses; it is copied to src
	release   release
}

// release is an earlier version, and the commit that it was built from. If a generator has one, its folder and the document
// are those of that commit.
type release struct{ version, commit string }

var version11 = release{"1.1", "67306bc72b624fa7b79a5a8f0147d65c8242f047"}

// name returns the name of the client in the table and in messages.
func (g generator) name() string {
	if g.release.version != "" {
		return g.folder + " of " + g.release.version
	}
	return g.folder
}

const openAPIGenerator = "mvn --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact=org.openapitools:openapi-generator-cli:7.25.0 -DoutputDirectory=."

// ofRelease returns the generator with the folder and the document of an earlier version.
func (g generator) ofRelease(r release) generator {
	g.release = r
	return g
}

var generators = append(current, current[0].ofRelease(version11))

var current = []generator{
	{
		folder:    "python-openapi-generator",
		generator: "openapi-generator 7.25.0 python",
		install: []string{
			openAPIGenerator,
			"python3 -m venv venv && venv/bin/pip install --quiet --requirement requirements.txt",
		},
		generate: "java -jar openapi-generator-cli-7.25.0.jar generate --input-spec http://127.0.0.1:8080/v1/openapi.yaml " +
			"--generator-name python --output client --package-name animalstore_client",
		compile: "PYTHONPATH=client venv/bin/mypy --strict --follow-imports=silent scenario.py",
		run:     "PYTHONPATH=client venv/bin/python scenario.py",
	},
	{
		folder:    "python-openapi-python-client",
		generator: "openapi-python-client 0.29.1",
		install:   []string{"python3 -m venv venv && venv/bin/pip install --quiet --requirement requirements.txt"},
		generate: ". venv/bin/activate && openapi-python-client generate --url http://127.0.0.1:8080/v1/openapi.yaml " +
			"--config config.yaml --meta none --output-path animal_store_client",
		compile: "venv/bin/mypy --strict --follow-imports=silent scenario.py",
		run:     "venv/bin/python scenario.py",
	},
	{
		folder:    "java-openapi-generator",
		generator: "openapi-generator 7.25.0 java native",
		install:   []string{openAPIGenerator},
		generate: "java -jar openapi-generator-cli-7.25.0.jar generate --input-spec http://127.0.0.1:8080/v1/openapi.yaml " +
			"--generator-name java --library native --output client --invoker-package animalstore " +
			"--api-package animalstore.api --model-package animalstore.model " +
			"--additional-properties=useSingleRequestParameter=true",
		compile: "mvn --quiet --file client/pom.xml package -Dmaven.test.skip=true -Dmaven.javadoc.skip=true && " +
			"javac -cp 'client/target/openapi-java-client-1.0.0.jar:client/target/lib/*' Scenario.java",
		run: "java -cp '.:client/target/openapi-java-client-1.0.0.jar:client/target/lib/*' Scenario",
	},
	{
		folder:    "rust-openapi-generator",
		generator: "openapi-generator 7.25.0 rust reqwest",
		install:   []string{openAPIGenerator},
		generate: "curl -sSf http://127.0.0.1:8080/v1/openapi.json | jq '.components.schemas |= map_values(if .anyOf then .oneOf = .anyOf | del(.anyOf) else . end)' >openapi.json && " +
			"java -jar openapi-generator-cli-7.25.0.jar generate --input-spec openapi.json " +
			"--generator-name rust --library reqwest --output client --package-name animalstore-client " +
			"--additional-properties=supportMiddleware=true",
		compile: "cargo build --quiet --locked",
		run:     "$CARGO_TARGET_DIR/debug/scenario",
	},
	{
		folder:    "go-oapi-codegen",
		generator: "oapi-codegen 2.8.2",
		generate: "mkdir -p animalstore && go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 " +
			"-config oapi-codegen.yaml http://127.0.0.1:8080/v1/openapi.yaml",
		compile: "go vet ./... && go build -o scenario .",
		run:     "./scenario",
		prism:   true,
	},
	{
		folder:    "typescript-openapi-fetch",
		generator: "openapi-typescript 7.13.0, openapi-fetch 0.17.0",
		install:   []string{"npm ci --silent # package.json package-lock.json"},
		generate:  "node generate.mjs http://127.0.0.1:8080/v1/openapi.yaml",
		compile:   "node_modules/.bin/tsc",
		run:       "node dist/scenario.js",
		example:   "examples/typescript/src/exact.ts",
	},
	{
		folder:    "typescript-hey-api",
		generator: "@hey-api/openapi-ts 0.99.0",
		install:   []string{"npm ci --silent # package.json package-lock.json"},
		generate:  "node_modules/.bin/openapi-ts --input http://127.0.0.1:8080/v1/openapi.yaml --file openapi-ts.config.mjs",
		compile:   "node_modules/.bin/tsc",
		run:       "node dist/scenario.js",
	},
}
