// Command informer keeps a cache of one resource as every Go controller does, with client-go's dynamic informer.
//
// informer KUBECONFIG GROUP VERSION RESOURCE NAMESPACE
//
// For each line on its standard input it prints its cache and what its handlers were told, as one line of JSON. Its
// standard error says why watches ended.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

type report struct {
	Synced  bool              `json:"synced"`
	Objects map[string]string `json:"objects"`
	Added   int64             `json:"added"`
	Updated int64             `json:"updated"`
	Deleted int64             `json:"deleted"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want KUBECONFIG GROUP VERSION RESOURCE NAMESPACE, got %q", args)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	if err := flags.Set("v", "4"); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, args[4], nil)
	resource := schema.GroupVersionResource{Group: args[1], Version: args[2], Resource: args[3]}
	informer := factory.ForResource(resource).Informer()

	var added, updated, deleted atomic.Int64
	handlers := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { added.Add(1) },
		UpdateFunc: func(any, any) { updated.Add(1) },
		DeleteFunc: func(any) { deleted.Add(1) },
	}
	if _, err := informer.AddEventHandler(handlers); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	factory.Start(stop)

	out := json.NewEncoder(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		objects := map[string]string{}
		for _, each := range informer.GetStore().List() {
			object := each.(*unstructured.Unstructured)
			objects[object.GetName()] = object.GetResourceVersion()
		}
		told := report{informer.HasSynced(), objects, added.Load(), updated.Load(), deleted.Load()}
		if err := out.Encode(told); err != nil {
			return err
		}
	}
	return nil
}
