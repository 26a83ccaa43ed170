package apply

import (
	"errors"
	"io/fs"
	"syscall"
)

// isRefusal reports that the system does not let something be written: asking again is
// of no use before a person has changed something.
func isRefusal(err error) bool {
	for _, one := range []error{fs.ErrPermission, errInTheWay, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT, syscall.ENAMETOOLONG} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
