// Package dirsync keeps a project directory in step with a published dataset, by plans
// that are shown before anything changes.
//
// It owns the nouns of that work and every decision: which entries are equal, what
// follows from two trees and their last common state, which guards stop a plan, what a
// plan's bytes and its id are. It is pure: it reads no file, no clock and no network.
// Its sub-packages are the hands. It plans no deletion, ever; replacing a file is the
// one destructive act, and the replaced bytes are kept.
package dirsync
