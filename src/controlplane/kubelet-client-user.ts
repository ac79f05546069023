// Who the API server is to kubelets: its certificate says so, and a role binding gives that user its rights.

/** The common name of the certificate with which the API server speaks to kubelets. */
export const kubeletClientUser = 'kube-apiserver-kubelet-client';
