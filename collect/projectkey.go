package collect

import (
	"strconv"
	"unicode/utf16"
)

// projectKeyMost is the longest folder name, in UTF-16 units, that Claude does not
// cut.
const projectKeyMost = 200

// ProjectKey is the name of the folder in which Claude keeps the sessions of a
// working directory: every UTF-16 unit outside A-Z a-z 0-9 becomes "-", and a name
// that is too long is cut and given a hash of the whole path. Different directories
// may share a key.
func ProjectKey(dir string) string {
	units := utf16.Encode([]rune(dir))
	key := make([]byte, 0, len(units))
	var hash int32
	for _, u := range units {
		hash = 31*hash + int32(u)
		if u < 0x80 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			key = append(key, byte(u))
		} else {
			key = append(key, '-')
		}
	}
	if len(key) <= projectKeyMost {
		return string(key)
	}
	return string(key[:projectKeyMost]) + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}
