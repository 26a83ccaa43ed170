package life

import (
	"errors"
	"fmt"
	"io/fs"

	"agentsync/ledger/durable"
)

// Kept counts the replaced contents that are kept, and their bytes.
func (b *Bound) Kept() (files int, bytes int64, err error) {
	folders, err := b.Disk.ReadDir(b.path(keepFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, fmt.Errorf("count what binding %s keeps: %w", b.ID, err)
	}
	for _, folder := range folders {
		kept, err := b.Disk.ReadDir(b.path(keepFolder + "/" + folder.Name()))
		if err != nil {
			return files, bytes, fmt.Errorf("count what binding %s keeps: %w", b.ID, err)
		}
		for _, one := range kept {
			info, err := one.Info()
			if err != nil || durable.IsTemp(one.Name()) {
				continue // gone meanwhile, or on its way
			}
			files++
			bytes += info.Size()
		}
	}
	return files, bytes, nil
}
