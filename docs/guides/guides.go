// Package guides contains the guides for developers as Markdown, which the service shows at /docs/guides.
package guides

import "embed"

// Files contains each guide as NAME.md.
//
//go:embed *.md
var Files embed.FS

// Names lists the guides in the order in which a newcomer should read them.
var Names = []string{"first-request", "pages", "orders", "events", "webhooks", "errors", "concurrency", "deprecation", "tools"}
