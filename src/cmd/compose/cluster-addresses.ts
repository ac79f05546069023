// The addresses of a one-machine cluster, in one place. kubeadm's and flannel's usual ones.

export const clusterCidr = '10.244.0.0/16';
export const serviceCidr = '10.96.0.0/16';
export const clusterDnsAddress = '10.96.0.10';
export const clusterDomain = 'cluster.local';
