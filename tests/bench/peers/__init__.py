"""What others would use: a controller-runtime and a kopf twin of the operator, and Knative's ApiServerSource."""
