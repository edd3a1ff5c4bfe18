// Package docs contains the guides for developers as Markdown, which the service shows at /docs/guides.
package docs

import "embed"

// Files contains the guides.
//
//go:embed guides/*.md assistants.md clients.md
var Files embed.FS

// Guides lists the files of the guides in the order in which a newcomer should read them.
var Guides = []string{
	"guides/first-request.md", "guides/pages.md", "guides/profiles-and-photos.md", "guides/window.md", "guides/orders.md", "guides/events.md", "guides/webhooks.md", "guides/errors.md",
	"guides/concurrency.md", "guides/deprecation.md", "guides/tools.md", "clients.md", "assistants.md",
}
