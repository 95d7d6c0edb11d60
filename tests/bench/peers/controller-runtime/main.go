// The WebApp operator as a controller-runtime user would write it: cached client, CreateOrUpdate for the three
// children, Owns() on each, one status update.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"peers/controller-runtime/api"
)

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	app := &api.WebApp{}
	if err := r.Get(ctx, req.NamespacedName, app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil // children go by garbage collection
	}
	dep, err := r.deployment(ctx, app)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("deployment: %w", err)
	}
	if err := r.service(ctx, app); err != nil {
		return ctrl.Result{}, fmt.Errorf("service: %w", err)
	}
	if err := r.ingress(ctx, app); err != nil {
		return ctrl.Result{}, fmt.Errorf("ingress: %w", err)
	}
	return ctrl.Result{}, r.status(ctx, app, dep)
}

func (r *reconciler) deployment(ctx context.Context, app *api.WebApp) (*appsv1.Deployment, error) {
	dep := &appsv1.Deployment{ObjectMeta: named(app)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, dep, func() error {
		dep.Spec.Replicas = ptr.To(ptr.Deref(app.Spec.Replicas, 1))
		if dep.CreationTimestamp.IsZero() {
			dep.Spec.Selector = &metav1.LabelSelector{MatchLabels: selector(app)}
		}
		dep.Spec.Template.Labels = selector(app)
		if len(dep.Spec.Template.Spec.Containers) != 1 {
			dep.Spec.Template.Spec.Containers = make([]corev1.Container, 1)
		}
		c := &dep.Spec.Template.Spec.Containers[0]
		c.Name, c.Image, c.Env = "app", app.Spec.Image, app.Spec.Env
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: app.Spec.Port, Protocol: corev1.ProtocolTCP}}
		return r.own(app, dep)
	})
	return dep, err
}

func (r *reconciler) service(ctx context.Context, app *api.WebApp) error {
	svc := &corev1.Service{ObjectMeta: named(app)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, svc, func() error {
		svc.Spec.Type = corev1.ServiceTypeClusterIP
		svc.Spec.Selector = selector(app)
		svc.Spec.Ports = []corev1.ServicePort{{
			Name: "http", Port: 80, TargetPort: intstr.FromInt32(app.Spec.Port), Protocol: corev1.ProtocolTCP}}
		return r.own(app, svc)
	})
	return err
}

func (r *reconciler) ingress(ctx context.Context, app *api.WebApp) error {
	ing := &networkingv1.Ingress{ObjectMeta: named(app)}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, ing, func() error {
		backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: app.Name, Port: networkingv1.ServiceBackendPort{Name: "http"}}}
		ing.Spec.Rules = []networkingv1.IngressRule{{
			Host: app.Spec.Host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{
					Path: "/", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: backend}}}}}}
		return r.own(app, ing)
	})
	return err
}

func (r *reconciler) own(app *api.WebApp, o client.Object) error {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["app.kubernetes.io/name"] = app.Name
	labels["app.kubernetes.io/managed-by"] = "webapp-controller"
	o.SetLabels(labels)
	return controllerutil.SetControllerReference(app, o, r.scheme)
}

func (r *reconciler) status(ctx context.Context, app *api.WebApp, dep *appsv1.Deployment) error {
	before := app.DeepCopy()
	want := ptr.Deref(app.Spec.Replicas, 1)
	app.Status.ObservedGeneration = app.Generation
	app.Status.ReadyReplicas = dep.Status.ReadyReplicas
	cond := metav1.Condition{Type: "Ready", ObservedGeneration: app.Generation, Status: metav1.ConditionFalse,
		Reason: "Progressing", Message: fmt.Sprintf("%d of %d replicas ready", dep.Status.ReadyReplicas, want)}
	if dep.Status.ReadyReplicas >= want {
		cond.Status, cond.Reason = metav1.ConditionTrue, "Reconciled"
	}
	meta.SetStatusCondition(&app.Status.Conditions, cond)
	if equality.Semantic.DeepEqual(before.Status, app.Status) {
		return nil
	}
	return r.Status().Update(ctx, app)
}

func named(app *api.WebApp) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}
}

func selector(app *api.WebApp) map[string]string {
	return map[string]string{"app": app.Name}
}

func run() error {
	workers := flag.Int("workers", 1, "MaxConcurrentReconciles")
	opts := zap.Options{}
	opts.BindFlags(flag.CommandLine)
	flag.Parse() // -kubeconfig comes from controller-runtime
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&opts)))
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := api.AddToScheme(scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).
		For(&api.WebApp{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Owns(&networkingv1.Ingress{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: *workers}).
		Complete(&reconciler{Client: mgr.GetClient(), scheme: scheme})
	if err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
