//go:build !unix

package gitinfo

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
