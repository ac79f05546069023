"""What a Python program does with a cluster, by Debian's python3-kubernetes as it is: lists, watches, patches, exec.

Prints `ok <step>` for each step that held, and ends with the first that did not.
"""
import sys

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import stream

kubeconfig, pod = sys.argv[1:]
config.load_kube_config(kubeconfig)
core = client.CoreV1Api()
namespace = "from-python"


def refused(status, reason, call, *args, **more):
    try:
        call(*args, **more)
    except ApiException as error:
        assert error.status == status, error
        assert f'"reason":"{reason}"' in error.body, error.body
        return
    raise AssertionError(f"not refused by {status} {reason}")


def config_map(name, value):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"app": "python"}), data={"key": value})


def typed():
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))
    core.create_namespaced_config_map(namespace, config_map("typed", "one"))
    patched = core.patch_namespaced_config_map("typed", namespace, {"data": {"more": "two"}})
    assert patched.data == {"key": "one", "more": "two"}, patched.data
    read = core.read_namespaced_config_map("typed", namespace)
    read.data["key"] = "three"
    assert core.replace_namespaced_config_map("typed", namespace, read).data["key"] == "three"
    refused(409, "Conflict", core.replace_namespaced_config_map, "typed", namespace, read)
    refused(409, "AlreadyExists", core.create_namespaced_config_map, namespace, config_map("typed", ""))
    refused(404, "NotFound", core.read_namespaced_config_map, "nobody", namespace)
    refused(422, "Invalid", core.create_namespaced_config_map, namespace, config_map("Not_A_Name", ""))


def pages():
    for i in range(12):
        core.create_namespaced_config_map(namespace, config_map(f"page-{i}", ""))
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(namespace, label_selector="app=python", limit=5, _continue=token)
        names += [one.metadata.name for one in page.items]
        token = page.metadata._continue
        if not token:
            break
    assert len(names) == len(set(names)) == 13, names


def watched():
    version = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, config_map("watched", "one"))
    core.patch_namespaced_config_map("watched", namespace, {"data": {"key": "two"}})
    core.delete_namespaced_config_map("watched", namespace)
    seen = []
    changes = watch.Watch()
    for event in changes.stream(core.list_namespaced_config_map, namespace, resource_version=version, timeout_seconds=60):
        seen.append((event["type"], event["object"].metadata.name, event["object"].data["key"]))
        if event["type"] == "DELETED":
            changes.stop()
    assert seen == [("ADDED", "watched", "one"), ("MODIFIED", "watched", "two"), ("DELETED", "watched", "two")], seen


def untyped():
    api = dynamic.DynamicClient(client.ApiClient())
    deployments = api.resources.get(api_version="apps/v1", kind="Deployment")
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "dynamic", "namespace": namespace},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "dynamic"}},
            "template": {
                "metadata": {"labels": {"app": "dynamic"}},
                "spec": {"containers": [{"name": "main", "image": "example.org/none"}]},
            },
        },
    }
    made = deployments.create(body=body, namespace=namespace)
    assert made.spec.strategy.type == "RollingUpdate", made
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "tty": True}]}}}}
    patched = deployments.patch(
        body=patch, name="dynamic", namespace=namespace, content_type="application/strategic-merge-patch+json"
    )
    assert patched.spec.template.spec.containers[0].image == "example.org/none", patched
    deployments.delete(name="dynamic", namespace=namespace)


def from_yaml():
    utils.create_from_dict(
        client.ApiClient(),
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "dict"}, "stringData": {"key": "value"}},
        namespace=namespace,
    )
    assert core.read_namespaced_secret("dict", namespace).data == {"key": "dmFsdWU="}


def executed():
    answer = stream(
        core.connect_get_namespaced_pod_exec,
        pod,
        "default",
        command=["sh", "-c", "read line; echo $line; echo heard >&2; exit 3"],
        stdin=True,
        stdout=True,
        stderr=True,
        tty=False,
        _preload_content=False,
    )
    answer.write_stdin("said\n")
    answer.run_forever(timeout=60)
    said = (answer.read_stdout(), answer.read_stderr())
    assert said == ("said\n", "heard\n"), said
    assert answer.returncode == 3, answer.returncode


def logged():
    assert core.read_namespaced_pod_log(pod, "default").startswith("begun"), "its log"


for step in (typed, pages, watched, untyped, from_yaml, executed, logged):
    step()
    print("ok", step.__name__, flush=True)
core.delete_namespace(namespace)
