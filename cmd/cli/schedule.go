package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	urfave "github.com/urfave/cli/v2"
)

// schedule is a pass that a timer is to run: every value is complete, since a timer has
// neither a shell's variables nor its working folder.
type schedule struct {
	program   string
	args      []string
	variables [][2]string // name, value
	every     time.Duration
}

// timers are the forms of a schedule, by the word that asks for one.
var timers = map[string]func(schedule) string{
	"systemd": schedule.systemd,
	"cron":    schedule.cron,
	"launchd": schedule.launchd,
	"github":  schedule.github,
}

// timerNames are the keys of timers, in the order of the help.
var timerNames = []string{"systemd", "cron", "launchd", "github"}

// timedVariables are those that a publish looks at and a timer lacks.
var timedVariables = []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "AGENTSYNC_CONFIG", "AGENTSYNC_STATE", "AGENTSYNC_STORE",
	"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"}

func (v *invocation) scheduleVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "schedule",
		Category: groupSetUp,
		Usage:    "print what a timer needs to publish again and again",
		Description: "Writes nothing. The program's whole path and the variables that are set now are written down, since a timer has " +
			"neither. A flag such as --config or --store goes into the line as well. The step for GitHub stands in a runner, where this " +
			"machine's paths mean nothing: it has none of them.",
		ArgsUsage: strings.Join(timerNames, "|"),
		UsageText: "agentsync schedule systemd\nagentsync schedule cron --every 30m\nagentsync schedule launchd > ~/Library/LaunchAgents/agentsync.plist",
		Flags: []urfave.Flag{
			&urfave.DurationFlag{Name: "every", Usage: "run it every `DURATION`: minutes that divide an hour", Value: 10 * time.Minute},
		},
		Action: action(1, 1, v.schedule),
	}
}

func (v *invocation) schedule(_ context.Context, c *urfave.Context) error {
	form, known := timers[c.Args().First()]
	if !known {
		return usageError("choose one: "+joined(timerNames), "no schedule of form %q", c.Args().First())
	}
	s := schedule{program: v.env.Program, every: c.Duration("every")}
	if minutes := s.minutes(); minutes < 1 || s.every%time.Minute != 0 || 60%minutes != 0 {
		return usageError("--every 10m", "--every %s: minutes that divide an hour, from 1m to 60m", s.every)
	}
	for _, flag := range [][2]string{{"--config", v.globals.config}, {"--state", v.globals.state}} {
		if flag[1] != "" {
			s.args = append(s.args, flag[0], v.env.abs(flag[1]))
		}
	}
	if store := v.globals.store; store != "" {
		if !strings.Contains(store, "://") {
			store = v.env.abs(store)
		}
		s.args = append(s.args, "--store", store)
	}
	s.args = append(s.args, "publish", "--quiet")
	for _, name := range timedVariables {
		if value := v.env.Getenv(name); value != "" {
			if !strings.Contains(value, "://") {
				value = v.env.abs(value)
			}
			s.variables = append(s.variables, [2]string{name, value})
		}
	}
	if err := s.check(); err != nil {
		return err
	}
	if strings.Contains(s.program, "go-build") || v.env.Temp != "" && strings.HasPrefix(s.program, filepath.Clean(v.env.Temp)+string(filepath.Separator)) {
		v.out.warn("this program will not stay where it is: %s; build it where it stays, and run that one's schedule", s.program)
	}
	return v.out.text(form(s))
}

func (s schedule) minutes() int { return int(s.every / time.Minute) }

// check refuses what no line of a timer can hold.
func (s schedule) check() error {
	if s.program == "" {
		return failWith(exitFailed, "", "the path of this program is not known")
	}
	texts := append([]string{s.program}, s.args...)
	for _, variable := range s.variables {
		texts = append(texts, variable[1])
	}
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) {
			return failWith(exitFailed, "name it otherwise, by a link for instance", "a timer cannot hold a control character: %q", text)
		}
	}
	return nil
}

func (s schedule) systemd() string {
	var b strings.Builder
	b.WriteString("# ~/.config/systemd/user/agentsync.service\n[Unit]\nDescription=Publish the sessions of coding agents\n\n[Service]\nType=oneshot\n")
	for _, variable := range s.variables {
		fmt.Fprintf(&b, "Environment=%s\n", unitText(variable[0]+"="+variable[1]))
	}
	b.WriteString("ExecStart=" + unitText(s.program))
	for _, arg := range s.args {
		b.WriteString(" " + strings.ReplaceAll(unitText(arg), "$", "$$"))
	}
	fmt.Fprintf(&b, "\n# 11: another pass is at work\nSuccessExitStatus=11\n\n"+
		"# ~/.config/systemd/user/agentsync.timer\n[Unit]\nDescription=Publish the sessions of coding agents\n\n[Timer]\nOnCalendar=%s\nPersistent=true\n\n"+
		"[Install]\nWantedBy=timers.target\n\n# then: systemctl --user daemon-reload && systemctl --user enable --now agentsync.timer\n",
		map[bool]string{false: fmt.Sprintf("*:0/%d", s.minutes()), true: "hourly"}[s.minutes() == 60])
	return b.String()
}

// unitText quotes a word of a unit file.
func unitText(word string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(word) + `"`
}

func (s schedule) cron() string {
	words := []string{fmt.Sprintf("*/%d * * * *", s.minutes())}
	if s.minutes() == 60 {
		words[0] = "0 * * * *"
	}
	for _, variable := range s.variables {
		words = append(words, variable[0]+"="+cronText(variable[1]))
	}
	words = append(words, cronText(s.program))
	for _, arg := range s.args {
		words = append(words, cronText(arg))
	}
	return strings.Join(words, " ") + "\n"
}

// cronText quotes a word for the shell, where it must be, in a line of cron, which ends a
// command at a percent sign.
func cronText(word string) string {
	plain := func(r rune) bool {
		return r == '/' || r == '.' || r == '-' || r == '_' || r == ':' || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.ReplaceAll(word, "%", `\%`)
}

func (s schedule) launchd() string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ~/Library/LaunchAgents/agentsync.plist, then: launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/agentsync.plist -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>agentsync</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, word := range append([]string{s.program}, s.args...) {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", plistText(word))
	}
	b.WriteString("\t</array>\n")
	if len(s.variables) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, variable := range s.variables {
			fmt.Fprintf(&b, "\t\t<key>%s</key>\n\t\t<string>%s</string>\n", variable[0], plistText(variable[1]))
		}
		b.WriteString("\t</dict>\n")
	}
	fmt.Fprintf(&b, "\t<key>StartInterval</key>\n\t<integer>%d</integer>\n</dict>\n</plist>\n", int(s.every/time.Second))
	return b.String()
}

func plistText(word string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(word)
}

// github is the step after the one in which an agent ran.
func (schedule) github() string {
	return `# after the step in which an agent ran; its variables, such as CLAUDE_CONFIG_DIR, belong into env of both
- name: Publish the sessions of the agent
  if: always()
  run: >-
    agentsync --state "$RUNNER_TEMP/agentsync-state" --store "$GITHUB_WORKSPACE/agent-sessions"
    publish --full --json --require-nonempty
- name: Keep the sessions
  if: always()
  uses: actions/upload-artifact@v4
  with:
    name: agent-sessions
    path: agent-sessions
`
}
