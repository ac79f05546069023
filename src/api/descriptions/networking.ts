// What the types of networking and of discovery are for.
export const networking: string = `
Ingress: Leads HTTP requests from outside to Services, by host and path. It needs an ingress controller, which is no part of the cluster itself.
  spec: Which requests lead where.
  status: At which addresses they are taken. Kept by the cluster: other writes leave it as it is.

IngressSpec: What requests fit, and where they go. At least defaultBackend or a rule.
  defaultBackend: Where requests go that fit no rule. Unset: the controller decides.
  ingressClassName: The IngressClass, which names the controller. Unset: the class that is marked as the default, if there is one.
  rules: Requests by host and path.
  tls: Hosts that are served with TLS, at port 443.

IngressRule: Requests for a host.
  host: The host, in full or as *.example.com for names with one more part. Addresses and ports are not allowed. Unset: all hosts.
  http: What follows for paths. Unset: all go to defaultBackend.

HTTPIngressRuleValue: Which paths lead where.
  paths: The paths.

HTTPIngressPath: Requests for a path.
  backend: Where they go.
  path: The path. It begins with a slash, unless pathType is ImplementationSpecific.
  pathType: Exact wants the same path; Prefix the same beginning, part by part; ImplementationSpecific leaves it to the controller. The longest path that fits counts.

IngressBackend: Where requests go: exactly one of the two.
  resource: An object that the controller knows, such as a bucket.
  service: A Service and its port.

IngressServiceBackend: A Service as the place where requests go.
  name: Name of the Service in the same namespace.
  port: Its port.

ServiceBackendPort: A port of a Service: exactly one of the two.
  name: Its name.
  number: Its number.

IngressTLS: Hosts that are served with TLS.
  hosts: The hosts, which must be in the certificate. Unset: what the controller takes as a default.
  secretName: Secret with the certificate and its key, in the same namespace. Unset: the controller decides by the host name that the client sends.

IngressStatus: At which addresses requests are taken.
  loadBalancer: The addresses.

IngressLoadBalancerStatus: The addresses of an Ingress.
  ingress: The addresses.

IngressLoadBalancerIngress: An address of an Ingress: ip, hostname or both.
  hostname: Its name.
  ip: Its address.
  ports: The ports and whether they work.

IngressPortStatus: A port of an Ingress.
  error: What is wrong with it, in one word. Unset: nothing.
  port: Its number.
  protocol: TCP, UDP or SCTP.

IngressClass: A kind of Ingress: which controller serves it. The annotation ingressclass.kubernetes.io/is-default-class makes it the default.
  spec: The controller and its settings.

IngressClassSpec: The controller of a class.
  controller: Name of the controller, such as example.com/ingress. Cannot be changed.
  parameters: An object with more settings for the controller.

IngressClassParametersReference: Names an object with settings.
  apiGroup: Its group. Unset: the core group.
  kind: Its kind.
  name: Its name.
  namespace: Its namespace. Needed with scope Namespace, not allowed otherwise.
  scope: Cluster (the default) or Namespace.

NetworkPolicy: Which connections pods of a namespace may have. A pod that no policy selects may have all. It needs a pod network that enforces policies.
  spec: Which pods, and which connections.

NetworkPolicySpec: Which connections pods may have. What any policy allows is allowed.
  egress: Connections that the pods may open. Empty: none, when policyTypes has Egress.
  ingress: Connections that the pods may be asked for. Empty: none.
  podSelector: The pods of the namespace that it is for. Empty: all.
  policyTypes: Which directions it limits: Ingress, Egress or both. Unset: Ingress, and Egress when there are rules for it.

NetworkPolicyIngressRule: Connections that come in: from one of these, at one of these ports.
  from: Who may connect. Empty or unset: anybody.
  ports: At which ports. Empty or unset: all.

NetworkPolicyEgressRule: Connections that go out: to one of these, at one of these ports.
  ports: At which ports. Empty or unset: all.
  to: To whom. Empty or unset: anybody.

NetworkPolicyPeer: Who is at the other end. ipBlock stands alone; the two selectors together mean such pods in such namespaces.
  ipBlock: Addresses in a range, mostly outside the cluster: those of pods come and go.
  namespaceSelector: Namespaces by their labels. Empty: all. Unset: the policy's own.
  podSelector: Pods by their labels. Empty or unset: all pods of those namespaces.

NetworkPolicyPort: Ports of connections.
  endPort: The last of several ports. Needs a number in port, which is not greater.
  port: A number, or the name of a port of the pods. Unset: all.
  protocol: TCP (the default), UDP or SCTP.

IPBlock: A range of addresses.
  cidr: The range, such as 192.0.2.0/24 or 2001:db8::/32.
  except: Ranges within it that do not count.

IPAddress: An address that is taken, named after itself. Kept by the server for addresses of Services.
  spec: The owner of the address.

IPAddressSpec: Who has an address.
  parentRef: The object that has it.

ParentReference: Names an object by its resource.
  group: Its group. Empty: the core group.
  name: Its name.
  namespace: Its namespace.
  resource: Its resource, such as services.

ServiceCIDR: Ranges from which Services get their addresses.
  spec: The ranges.
  status: Whether it can be used. Kept by the cluster: other writes leave it as it is.

ServiceCIDRSpec: Ranges of addresses for Services.
  cidrs: One or two ranges, of different families. Cannot be changed, but a second family may be added.

ServiceCIDRStatus: Whether the ranges can be used.
  conditions: Ready, and why not.
`;

export const discovery: string = `
EndpointSlice: Addresses behind a Service, at most 1000 in one slice. Made for Services with a selector; for others write them yourself, with the label kubernetes.io/service-name.
  addressType: IPv4, IPv6 or FQDN, for all addresses of the slice. Cannot be changed.
  endpoints: What is behind the Service, at most 1000.
  ports: The ports, the same for all endpoints. Empty: none.

Endpoint: One thing behind a Service, mostly a pod.
  addresses: Its addresses, 1 to 100. They mean the same; only the first is used.
  conditions: Its state.
  deprecatedTopology: Labels of places, as in an older version. Read-only; nodeName and zone have taken their place.
  hints: Who should prefer it.
  hostname: Name of the host, for DNS.
  nodeName: The node that it is on.
  targetRef: The object behind it.
  zone: The zone that it is in.

EndpointConditions: Whether an endpoint takes connections.
  ready: It does and is not ending, or its Service publishes those not ready. Unset: true.
  serving: It does, perhaps while it is ending. Unset: equal to ready.
  terminating: It is ending. Unset: false.

EndpointHints: Who should use an endpoint.
  forNodes: Nodes that should, at most 8.
  forZones: Zones that should, at most 8.

ForNode: A node that should use an endpoint.
  name: Its name.

ForZone: A zone that should use an endpoint.
  name: Its name.

EndpointPort: A port of endpoints.
  appProtocol: What is spoken here, as a hint: a name of IANA, or one with a prefix such as kubernetes.io/h2c.
  name: Name of the Service's port, unique in the slice. Default empty.
  port: Its number. Unset: not limited to one.
  protocol: TCP (the default), UDP or SCTP.
`;
