package cli

import (
	"context"

	"agentsync/publish"
)

// repairStore brings a lost format.json back, in the owner's name.
func (v *invocation) repairStore(ctx context.Context, s *settings) error {
	place, done, err := openStore(s, false)
	if err != nil {
		return err
	}
	defer done()
	return v.withLock(ctx, s.State, publishLock, "doctor --repair", func(ctx context.Context) error {
		options, err := v.signedOptions(s)
		if err != nil {
			return err
		}
		options.Store = place
		_, repaired, err := publish.RepairFormat(ctx, options)
		if err == nil && repaired {
			v.inform("format.json of %s was brought back", place.Location())
		}
		return err
	})
}
