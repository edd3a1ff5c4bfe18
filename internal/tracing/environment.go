package tracing

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Warning reports an environment variable with an invalid value. It does not contain the value, which may be a
// secret.
type Warning struct{ Variable, Problem string }

// examine reports whether the environment asks for traces, and which variables have invalid values. An empty
// variable counts as unset. Invalid values never stop the service, because these variables are often set for all
// programs on a machine.
func examine(getenv func(string) string) (on bool, warnings []Warning) {
	get := func(name string) string { return strings.TrimSpace(getenv(name)) }
	const off = "; traces are off"
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	exporter := strings.ToLower(get("OTEL_TRACES_EXPORTER"))
	name, endpoint := first(get, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	switch {
	case exporter == "none" || exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, []Warning{{"OTEL_TRACES_EXPORTER", "expected otlp or none" + off}}
	case endpoint != "" && !isEndpoint(endpoint):
		return false, []Warning{{name, "expected a URL such as http://localhost:4318" + off}}
	}
	name, protocol := first(get, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if protocol != "" && protocol != "http/protobuf" {
		return false, []Warning{{name, "only http/protobuf is supported, usually on port 4318" + off}}
	}
	for _, check := range checks {
		for _, name := range check.variables {
			if value := get(name); value != "" && !check.isValid(value) {
				warnings = append(warnings, Warning{name, "expected " + check.want + "; the value is ignored"})
			}
		}
	}
	return true, warnings
}

// first returns the first of the variables that is set, and its value, or two empty strings if none is set.
func first(get func(string) string, names ...string) (name, value string) {
	for _, name := range names {
		if value := get(name); value != "" {
			return name, value
		}
	}
	return "", ""
}

// checks lists variables that the OpenTelemetry SDK reads, with their valid values. The SDK ignores invalid values.
var checks = []struct {
	variables []string
	isValid   func(string) bool
	want      string
}{
	{[]string{"OTEL_SDK_DISABLED"}, func(v string) bool { return strings.EqualFold(v, "false") }, "true or false"},
	{[]string{"OTEL_TRACES_SAMPLER"}, isSampler, "one of " + strings.Join(samplers, ", ")},
	{[]string{"OTEL_TRACES_SAMPLER_ARG"}, isRatio, "a number from 0 to 1"},
	{[]string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_RESOURCE_ATTRIBUTES"}, isList, "a list such as name=value,name=value"},
	{[]string{"OTEL_EXPORTER_OTLP_COMPRESSION", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION"},
		func(v string) bool { return v == "gzip" || v == "none" }, "gzip or none"},
	{[]string{"OTEL_EXPORTER_OTLP_CERTIFICATE", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"}, isReadable, "a file that this user can read"},
	{[]string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_BSP_SCHEDULE_DELAY", "OTEL_BSP_EXPORT_TIMEOUT"},
		isPositive, "a number of milliseconds"},
	{[]string{"OTEL_BSP_MAX_QUEUE_SIZE", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"}, isPositive, "a number of spans"},
}

var samplers = []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}

func isSampler(value string) bool { return slices.Contains(samplers, strings.ToLower(value)) }

func isEndpoint(value string) bool {
	u, err := url.Parse(value)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isRatio(value string) bool {
	ratio, err := strconv.ParseFloat(value, 64)
	return err == nil && ratio >= 0 && ratio <= 1
}

func isPositive(value string) bool {
	n, err := strconv.Atoi(value)
	return err == nil && n > 0
}

func isList(value string) bool {
	for pair := range strings.SplitSeq(value, ",") {
		name, escaped, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(escaped); err != nil || !found || strings.TrimSpace(name) == "" {
			return false
		}
	}
	return true
}

func isReadable(path string) bool {
	file, err := os.Open(path)
	if err == nil {
		file.Close()
	}
	return err == nil
}
