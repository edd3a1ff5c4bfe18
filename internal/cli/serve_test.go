package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"animalstore/internal/shop"
)

// Background work that exceeds its deadline under load is tried again, so the log reports it as a warning.
func TestExceededDeadlineOfBackgroundWorkIsAWarning(t *testing.T) {
	t.Parallel()
	if got := backgroundLevel(shop.TimeoutError(fmt.Errorf("the read was interrupted: %w", context.DeadlineExceeded))); got != slog.LevelWarn {
		t.Errorf("a deadline is logged with the level %s", got)
	}
	if got := backgroundLevel(shop.UnavailableError(errors.New("disk I/O error"))); got != slog.LevelError {
		t.Errorf("a failed disk is logged with the level %s", got)
	}
}
