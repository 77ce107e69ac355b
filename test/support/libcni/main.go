// Drives the reference library (Debian's golang-github-appc-cni-dev) from tests: one command, one attachment.
// Prints the result of an ADD; a failure goes to standard error with exit code 1.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/containernetworking/cni/libcni"
)

type request struct {
	Command, Network, ConfDir, BinDir, CacheDir string
	ContainerID, NetNS, IfName                  string
	Args                                        [][2]string
	CapabilityArgs                              map[string]interface{}
}

func run(ask request) error {
	list, err := libcni.LoadConfList(ask.ConfDir, ask.Network)
	if err != nil {
		return err
	}
	cni := libcni.NewCNIConfigWithCacheDir([]string{ask.BinDir}, ask.CacheDir, nil)
	attachment := &libcni.RuntimeConf{
		ContainerID:    ask.ContainerID,
		NetNS:          ask.NetNS,
		IfName:         ask.IfName,
		Args:           ask.Args,
		CapabilityArgs: ask.CapabilityArgs,
	}
	switch ask.Command {
	case "ADD":
		result, err := cni.AddNetworkList(context.Background(), list, attachment)
		if err != nil {
			return err
		}
		return result.Print()
	case "CHECK":
		return cni.CheckNetworkList(context.Background(), list, attachment)
	case "DEL":
		// As CRI-O does it: with the settings that ADD was given.
		_, cached, err := cni.GetNetworkListCachedConfig(list, attachment)
		if err != nil {
			return err
		}
		if cached != nil {
			attachment = cached
		}
		return cni.DelNetworkList(context.Background(), list, attachment)
	}
	return fmt.Errorf("unknown command %q", ask.Command)
}

func main() {
	var ask request
	err := json.NewDecoder(os.Stdin).Decode(&ask)
	if err == nil {
		err = run(ask)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
