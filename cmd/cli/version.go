package cli

import (
	"context"
	"runtime"
	"runtime/debug"

	urfave "github.com/urfave/cli/v2"
)

// versionObject is the JSON form of what was built.
type versionObject struct {
	Type     string `json:"message_type"`
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (v *invocation) versionVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "version",
		Category: groupOther,
		Usage:    "print the version",
		Action: action(0, 0, func(context.Context, *urfave.Context) error {
			info, _ := debug.ReadBuildInfo()
			built := buildVersion(info)
			if v.out.asJSON {
				return v.out.object(built)
			}
			return v.out.line("%s", built.text())
		}),
	}
}

// buildVersion reads what the Go tool recorded; info may be nil.
func buildVersion(info *debug.BuildInfo) versionObject {
	built := versionObject{Type: "version", Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return built
	}
	if info.Main.Version != "" {
		built.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			built.Commit = setting.Value
		case "vcs.modified":
			built.Modified = setting.Value == "true"
		}
	}
	return built
}

func (o versionObject) text() string {
	text := programName + " " + o.Version
	if o.Commit != "" {
		text += " commit " + o.Commit
	}
	if o.Modified {
		text += " (modified)"
	}
	return text + " " + o.Go + " " + o.Platform
}
