package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// StoreURL names a store: a folder, or a prefix in a bucket. It holds no credentials.
type StoreURL struct {
	Scheme string // "file" or "s3"
	Path   string // of a folder: absolute, in the system's own spelling

	Bucket   string
	Prefix   string // without slashes at its ends, may be ""
	Endpoint string // scheme://host[:port] of the service, "" for the provider's own
	Region   string // "" for the default
}

// String returns the address that ParseStore reads as the same store.
func (u StoreURL) String() string {
	if u.Scheme != "s3" {
		p := strings.ReplaceAll(u.Path, `\`, "/")
		if strings.HasPrefix(u.Path, "/") {
			p = u.Path // there a backslash is a letter like any other
		} else {
			p = "/" + p
		}
		return (&url.URL{Scheme: "file", Path: p}).String()
	}
	query := url.Values{}
	if u.Endpoint != "" {
		query.Set("endpoint", u.Endpoint)
	}
	if u.Region != "" {
		query.Set("region", u.Region)
	}
	whole := url.URL{Scheme: "s3", Host: u.Bucket, RawQuery: query.Encode()}
	if u.Prefix != "" {
		whole.Path = "/" + u.Prefix
	}
	return whole.String()
}

var (
	storeScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+)://`)
	bareScheme  = regexp.MustCompile(`^(?i)(file|s3):`)
	bucketName  = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName  = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)
)

const storeForms = "a folder, file:///folder, or s3://bucket/prefix"

// ParseStore reads the address of a store: a plain path, file:///folder, or
// s3://bucket/prefix with the parameters endpoint and region. A relative path is
// relative to folder. Errors repeat nothing of an address that may hold a password.
func ParseStore(text, folder string, env Env) (StoreURL, error) {
	m := storeScheme.FindStringSubmatch(text)
	switch {
	case m == nil && bareScheme.MatchString(text):
		return StoreURL{}, errors.New("the scheme needs two slashes: file:///folder or s3://bucket/prefix")
	case m == nil:
		p, err := env.system().settle(text, folder, env.Home)
		return StoreURL{Scheme: "file", Path: p}, err
	}
	u, err := url.Parse(text)
	if err != nil {
		var detail *url.Error
		if errors.As(err, &detail) {
			err = detail.Err // without the address
		}
		return StoreURL{}, fmt.Errorf("not a valid address: %w", err)
	}
	if u.User != nil {
		return StoreURL{}, errors.New("an address holds no user or password; credentials come from the environment")
	}
	if u.Fragment != "" {
		return StoreURL{}, errors.New("an address has no part after #; in a folder's name write %23")
	}
	switch strings.ToLower(m[1]) {
	case "file":
		return fileStore(u, env.system())
	case "s3":
		return s3Store(u)
	}
	return StoreURL{}, fmt.Errorf("unknown scheme %s; a store is %s", m[1], storeForms)
}

func fileStore(u *url.URL, s system) (StoreURL, error) {
	if u.Host != "" && u.Host != "localhost" {
		return StoreURL{}, errors.New("a file address names no host: write file:///folder, with three slashes")
	}
	if u.RawQuery != "" || u.ForceQuery {
		return StoreURL{}, errors.New("a file address has no part after ?; in a folder's name write %3F")
	}
	p := u.Path
	if s == windows && len(p) > 2 && s.drive(p[1:]) {
		p = p[1:]
	}
	if !s.absolute(p) {
		return StoreURL{}, errors.New("a file address needs a folder: file:///folder")
	}
	p, err := s.settle(p, "", "")
	return StoreURL{Scheme: "file", Path: p}, err
}

func s3Store(u *url.URL) (StoreURL, error) {
	store := StoreURL{Scheme: "s3", Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	if !bucketName.MatchString(store.Bucket) || strings.Contains(store.Bucket, "..") {
		return StoreURL{}, errors.New("the bucket's name needs 3 to 63 lower-case letters, digits, dots or hyphens")
	}
	for segment := range strings.SplitSeq(store.Prefix, "/") {
		if store.Prefix != "" && (segment == "" || segment == "." || segment == "..") || strings.ContainsFunc(segment, isControl) {
			return StoreURL{}, errors.New("the prefix holds an empty, dot, or unprintable part")
		}
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return StoreURL{}, errors.New("the part after ? is not name=value&name=value")
	}
	for name, values := range query {
		if len(values) > 1 {
			return StoreURL{}, fmt.Errorf("the parameter %q is given twice", name)
		}
		switch name {
		case "endpoint":
			store.Endpoint, err = endpoint(values[0])
		case "region":
			if store.Region = values[0]; !regionName.MatchString(store.Region) {
				err = errors.New("the region is a name such as eu-central-1")
			}
		default:
			err = fmt.Errorf("unknown parameter %q (%s)", name, meant(name, []string{"endpoint", "region"}))
		}
		if err != nil {
			return StoreURL{}, err
		}
	}
	return store, nil
}

// endpoint checks the address of an S3 service and drops a slash at its end.
func endpoint(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the endpoint is http://host:port or https://host, and nothing more")
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
