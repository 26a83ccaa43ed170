package value

import (
	"errors"
	"strings"
)

func checkRegExp(source, flags string) error {
	for i, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) || strings.ContainsRune(flags[:i], f) {
			return errors.New("flags are not those of a regular expression")
		}
	}
	return nil
}
