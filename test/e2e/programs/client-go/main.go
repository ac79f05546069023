// What a Go program does with a cluster, by client-go as it is: protobuf, pages, informers, apply, exec, leader election.
// Prints `ok <step>` for each step that held, and ends with the first that did not.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/retry"
)

const namespace = "from-go"

var ctx, cancelAll = context.WithTimeout(context.Background(), 80*time.Second)

func must(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func expect(holds bool, format string, args ...any) {
	if !holds {
		must(fmt.Errorf(format, args...), "not as expected")
	}
}

func ok(step string) { fmt.Println("ok " + step) }

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "go"}},
		Data:       map[string]string{"key": value},
		BinaryData: map[string][]byte{"bytes": {0, 255, 128, 10}},
	}
}

func main() {
	defer cancelAll()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	must(err, "kubeconfig")
	config.QPS, config.Burst = 200, 200
	asJSON := rest.CopyConfig(config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	clients := kubernetes.NewForConfigOrDie(config)

	typed(clients)
	refusals(clients)
	pages(clients)
	applied(clients)
	informed(clients)
	watched(clients)
	untyped(dynamic.NewForConfigOrDie(asJSON))
	discovered(clients)
	executed(clients, config)
	elected(clients)
	must(clients.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{}), "delete namespace")
}

func typed(clients kubernetes.Interface) {
	_, err := clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(err, "create namespace")
	maps := clients.CoreV1().ConfigMaps(namespace)
	made, err := maps.Create(ctx, configMap("typed", "one"), metav1.CreateOptions{})
	must(err, "create")
	expect(bytes.Equal(made.BinaryData["bytes"], []byte{0, 255, 128, 10}), "bytes came back as %v", made.BinaryData)
	must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		fresh, err := maps.Get(ctx, "typed", metav1.GetOptions{})
		if err != nil {
			return err
		}
		fresh.Data["key"] = "two"
		_, err = maps.Update(ctx, fresh, metav1.UpdateOptions{})
		return err
	}), "update")
	patched, err := maps.Patch(ctx, "typed", types.StrategicMergePatchType, []byte(`{"data":{"more":"three"}}`), metav1.PatchOptions{})
	must(err, "patch")
	expect(patched.Data["key"] == "two" && patched.Data["more"] == "three", "patched: %v", patched.Data)
	ok("typed")
}

func refusals(clients kubernetes.Interface) {
	maps := clients.CoreV1().ConfigMaps(namespace)
	_, err := maps.Get(ctx, "nobody", metav1.GetOptions{})
	expect(apierrors.IsNotFound(err), "a missing one: %v", err)
	_, err = maps.Create(ctx, configMap("typed", ""), metav1.CreateOptions{})
	expect(apierrors.IsAlreadyExists(err), "a second one: %v", err)
	stale := configMap("typed", "stale")
	stale.ResourceVersion = "1"
	_, err = maps.Update(ctx, stale, metav1.UpdateOptions{})
	expect(apierrors.IsConflict(err), "a stale one: %v", err)
	_, err = maps.Create(ctx, configMap("Not_A_Name", ""), metav1.CreateOptions{})
	expect(apierrors.IsInvalid(err), "a bad name: %v", err)
	expect(apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid), "its cause: %v", err)
	ok("refusals")
}

func pages(clients kubernetes.Interface) {
	maps := clients.CoreV1().ConfigMaps(namespace)
	for i := range 25 {
		_, err := maps.Create(ctx, configMap(fmt.Sprintf("page-%02d", i), ""), metav1.CreateOptions{})
		must(err, "create")
	}
	asked := 0
	lister := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		asked++
		return maps.List(ctx, options)
	}))
	lister.PageSize = 10
	found := map[string]bool{}
	must(lister.EachListItem(ctx, metav1.ListOptions{LabelSelector: "app=go"}, func(one runtime.Object) error {
		found[one.(*corev1.ConfigMap).Name] = true
		return nil
	}), "pages")
	expect(len(found) == 26 && asked == 3, "%d objects by %d requests", len(found), asked)
	ok("pages")
}

func applied(clients kubernetes.Interface) {
	maps := clients.CoreV1().ConfigMaps(namespace)
	wanted := corev1apply.ConfigMap("applied", namespace).WithData(map[string]string{"key": "mine"})
	_, err := maps.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "first"})
	must(err, "apply")
	other := corev1apply.ConfigMap("applied", namespace).WithData(map[string]string{"key": "theirs"})
	_, err = maps.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "second"})
	expect(apierrors.IsConflict(err), "another manager: %v", err)
	forced, err := maps.Apply(ctx, other, metav1.ApplyOptions{FieldManager: "second", Force: true})
	must(err, "apply by force")
	expect(forced.Data["key"] == "theirs", "forced: %v", forced.Data)
	mine, err := corev1apply.ExtractConfigMap(forced, "first")
	must(err, "extract")
	expect(len(mine.Data) == 0, "still the first manager's: %v", mine.Data)
	ok("apply")
}

func informed(clients kubernetes.Interface) {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	maps := factory.Core().V1().ConfigMaps()
	seen := make(chan string, 200)
	_, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(one any, first bool) {
			if !first {
				seen <- "added " + one.(*corev1.ConfigMap).Name
			}
		},
		UpdateFunc: func(_, one any) { seen <- "updated " + one.(*corev1.ConfigMap).Name },
		DeleteFunc: func(one any) { seen <- "deleted " + one.(*corev1.ConfigMap).Name },
	})
	must(err, "handler")
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		expect(synced, "%v is not synced", kind)
	}
	_, err = maps.Lister().ConfigMaps(namespace).Get("typed")
	must(err, "lister")
	writer := clients.CoreV1().ConfigMaps(namespace)
	_, err = writer.Create(ctx, configMap("informed", "one"), metav1.CreateOptions{})
	must(err, "create")
	_, err = writer.Patch(ctx, "informed", types.JSONPatchType, []byte(`[{"op":"replace","path":"/data/key","value":"two"}]`), metav1.PatchOptions{})
	must(err, "patch")
	must(writer.Delete(ctx, "informed", metav1.DeleteOptions{}), "delete")
	for _, wanted := range []string{"added informed", "updated informed", "deleted informed"} {
		expect(<-seen == wanted, "not %s", wanted)
	}
	ok("informers")
}

func watched(clients kubernetes.Interface) {
	maps := clients.CoreV1().ConfigMaps(namespace)
	all := true
	stream, err := maps.Watch(ctx, metav1.ListOptions{
		SendInitialEvents:    &all,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks:  true,
		FieldSelector:        fields.OneTermEqualSelector("metadata.name", "typed").String(),
	})
	must(err, "watch")
	defer stream.Stop()
	first := <-stream.ResultChan()
	expect(first.Type == watch.Added, "first %v", first)
	end := <-stream.ResultChan()
	expect(end.Type == watch.Bookmark, "then %v", end)
	expect(end.Object.(*corev1.ConfigMap).Annotations[metav1.InitialEventsAnnotationKey] == "true", "a bookmark of %v", end.Object)
	ok("watch")
}

func untyped(client dynamic.Interface) {
	crds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := crds.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gophers.example.org"},
		"spec": map[string]any{
			"group": "example.org", "scope": "Namespaced",
			"names": map[string]any{"plural": "gophers", "kind": "Gopher"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec": map[string]any{"type": "object", "properties": map[string]any{"holes": map[string]any{"type": "integer", "minimum": int64(1)}}},
				}}}}},
		},
	}}, metav1.CreateOptions{})
	must(err, "create CRD")
	changes, err := crds.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=gophers.example.org"})
	must(err, "watch CRD")
	for event := range changes.ResultChan() {
		conditions, _, _ := unstructured.NestedSlice(event.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		established := false
		for _, one := range conditions {
			condition := one.(map[string]any)
			established = established || condition["type"] == "Established" && condition["status"] == "True"
		}
		if established {
			break
		}
	}
	changes.Stop()
	gophers := client.Resource(schema.GroupVersionResource{Group: "example.org", Version: "v1", Resource: "gophers"}).Namespace(namespace)
	gopher := func(holes int64) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.org/v1", "kind": "Gopher", "metadata": map[string]any{"generateName": "gopher-"},
			"spec": map[string]any{"holes": holes},
		}}
	}
	_, err = gophers.Create(ctx, gopher(9007199254740993), metav1.CreateOptions{})
	must(err, "create gopher")
	_, err = gophers.Create(ctx, gopher(0), metav1.CreateOptions{})
	expect(apierrors.IsInvalid(err), "without holes: %v", err)
	listed, err := gophers.List(ctx, metav1.ListOptions{})
	must(err, "list gophers")
	holes, _, _ := unstructured.NestedInt64(listed.Items[0].Object, "spec", "holes")
	expect(holes == 9007199254740993, "%d holes", holes)
	must(crds.Delete(ctx, "gophers.example.org", metav1.DeleteOptions{}), "delete CRD")
	ok("custom resources")
}

func discovered(clients kubernetes.Interface) {
	groups, resources, err := clients.Discovery().ServerGroupsAndResources()
	must(err, "discovery")
	expect(len(groups) > 20 && len(resources) > 20, "%d groups, %d lists", len(groups), len(resources))
	paths, err := clients.Discovery().OpenAPIV3().Paths()
	must(err, "OpenAPI")
	_, err = paths["apis/apps/v1"].Schema("application/json")
	must(err, "OpenAPI of apps/v1")
	version, err := clients.Discovery().ServerVersion()
	must(err, "version")
	expect(version.Major == "1", "version %v", version)
	ok("discovery")
}

func executed(clients kubernetes.Interface, config *rest.Config) {
	request := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace("default").Name(os.Args[2]).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"sh", "-c", "cat; echo heard >&2; exit 3"}, Stdin: true, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	overSPDY, err := remotecommand.NewSPDYExecutor(config, "POST", request.URL())
	must(err, "SPDY")
	overWebSocket, err := remotecommand.NewWebSocketExecutor(config, "GET", request.URL().String())
	must(err, "WebSocket")
	for name, executor := range map[string]remotecommand.Executor{"SPDY": overSPDY, "WebSocket": overWebSocket} {
		var out, errs bytes.Buffer
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: bytes.NewBufferString("said"), Stdout: &out, Stderr: &errs})
		code, isCode := err.(interface{ ExitStatus() int })
		expect(isCode && code.ExitStatus() == 3, "%s: ended with %v", name, err)
		expect(out.String() == "said" && errs.String() == "heard\n", "%s: %q %q", name, out.String(), errs.String())
	}
	ok("exec")
}

func elected(clients kubernetes.Interface) {
	var leaders []string
	var guard sync.Mutex
	run := func(identity string, term context.Context, leading func()) {
		leaderelection.RunOrDie(term, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "leader"},
				Client:     clients.CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
			},
			ReleaseOnCancel: true,
			LeaseDuration:   15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: time.Second,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) {
					guard.Lock()
					leaders = append(leaders, identity)
					guard.Unlock()
					leading()
				},
				OnStoppedLeading: func() {},
			},
		})
	}
	first, endFirst := context.WithCancel(ctx)
	second, endSecond := context.WithCancel(ctx)
	leads := make(chan bool)
	ended := make(chan bool)
	go func() {
		run("first", first, func() { leads <- true })
		ended <- true
	}()
	<-leads
	go func() {
		run("second", second, func() { leads <- true })
		ended <- true
	}()
	endFirst()
	<-ended
	<-leads
	endSecond()
	<-ended
	expect(fmt.Sprint(leaders) == "[first second]", "leaders: %v", leaders)
	ok("leader election")
}
