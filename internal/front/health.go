package front

import "connectrpc.com/grpchealth"

// Health is what grpc.health.v1 says of the bridge.
type Health struct {
	services []string
	checker  *grpchealth.StaticChecker
}

// NewHealth begins with all services serving.
func NewHealth(services ...string) *Health {
	return &Health{services: services, checker: grpchealth.NewStaticChecker(services...)}
}

// Drain says that the bridge wants no more traffic.
func (h *Health) Drain() {
	for _, s := range append([]string{""}, h.services...) {
		h.checker.SetStatus(s, grpchealth.StatusNotServing)
	}
}
