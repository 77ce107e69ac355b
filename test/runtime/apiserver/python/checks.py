# What programs written with Python's stock client do, each as a check of its own.
# Called with a kubeconfig; writes one JSON line a check: its name, and what went wrong if anything did.
import json
import sys
import threading
import traceback

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError

SPACE = "python"
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def refused(status, call, *args, **kwargs):
    """The Status of a call that must be refused."""
    try:
        call(*args, **kwargs)
    except ApiException as error:
        assert error.status == status, f"{error.status} instead of {status}: {error.body}"
        body = error.body.decode() if isinstance(error.body, bytes) else error.body
        answer = json.loads(body)
        assert answer["kind"] == "Status" and answer["code"] == status, answer
        return answer
    raise AssertionError(f"not refused with {status}")


def config_map(name, data=None, labels=None):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data=data)


def container(**more):
    return client.V1Container(name="main", image="busybox", **more)


def deployment(name, replicas):
    labels = {"app": name}
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name),
        spec=client.V1DeploymentSpec(
            replicas=replicas,
            selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[container()]),
            ),
        ),
    )


@check
def versions_and_groups_are_found():
    assert client.VersionApi().get_code().minor == "36"
    assert client.CoreApi().get_api_versions().versions == ["v1"]
    groups = {group.name for group in client.ApisApi().get_api_versions().groups}
    assert {"apps", "batch", "rbac.authorization.k8s.io"} <= groups, groups
    names = {resource.name for resource in client.CoreV1Api().get_api_resources().resources}
    assert {"pods", "pods/exec", "configmaps"} <= names, names


@check
def an_object_is_made_read_replaced_and_deleted():
    core = client.CoreV1Api()
    made = core.create_namespaced_config_map(SPACE, config_map("life", {"a": "1"}))
    assert made.metadata.uid and made.metadata.creation_timestamp.tzinfo is not None
    made.data["b"] = "2"
    replaced = core.replace_namespaced_config_map("life", SPACE, made)
    assert int(replaced.metadata.resource_version) > int(made.metadata.resource_version)
    stale = refused(409, core.replace_namespaced_config_map, "life", SPACE, made)
    assert stale["reason"] == "Conflict", stale
    assert core.read_namespaced_config_map("life", SPACE).data == {"a": "1", "b": "2"}
    assert core.delete_namespaced_config_map("life", SPACE).status == "Success"
    gone = refused(404, core.read_namespaced_config_map, "life", SPACE)
    assert gone["message"] == 'configmaps "life" not found', gone


@check
def names_are_generated_and_a_dry_run_changes_nothing():
    core = client.CoreV1Api()
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(generate_name="made-"))
    assert core.create_namespaced_config_map(SPACE, body).metadata.name.startswith("made-")
    core.create_namespaced_config_map(SPACE, config_map("dry"), dry_run="All")
    refused(404, core.read_namespaced_config_map, "dry", SPACE)


@check
def lists_are_selected_and_paged():
    core = client.CoreV1Api()
    for index in range(25):
        tier = "even" if index % 2 == 0 else "odd"
        core.create_namespaced_config_map(SPACE, config_map(f"page-{index:02}", labels={"tier": tier}))
    even = core.list_namespaced_config_map(SPACE, label_selector="tier in (even),tier!=odd").items
    assert [item.metadata.name for item in even] == [f"page-{i:02}" for i in range(0, 25, 2)]
    one = core.list_namespaced_config_map(SPACE, field_selector="metadata.name=page-07").items
    assert [item.metadata.name for item in one] == ["page-07"]
    names, rest = [], None
    while True:
        page = core.list_namespaced_config_map(SPACE, label_selector="tier", limit=10, _continue=rest)
        names += [item.metadata.name for item in page.items]
        rest = page.metadata._continue
        if not rest:
            break
    assert names == [f"page-{i:02}" for i in range(25)], names
    core.delete_collection_namespaced_config_map(SPACE, label_selector="tier")
    assert core.list_namespaced_config_map(SPACE, label_selector="tier").items == []


@check
def a_watch_tells_every_change_and_goes_on_where_it_stopped():
    core = client.CoreV1Api()
    start = core.list_namespaced_config_map(SPACE).metadata.resource_version

    def change():
        core.create_namespaced_config_map(SPACE, config_map("seen", {"turn": "0"}))
        for turn in range(1, 50):
            core.patch_namespaced_config_map("seen", SPACE, {"data": {"turn": str(turn)}})
        core.delete_namespaced_config_map("seen", SPACE)

    writer = threading.Thread(target=change)
    writer.start()
    turns, kinds, at = [], [], start
    while "DELETED" not in kinds:
        follower = watch.Watch()
        stream = follower.stream(
            core.list_namespaced_config_map, SPACE, resource_version=at, timeout_seconds=60
        )
        for taken, event in enumerate(stream):
            kinds.append(event["type"])
            at = event["object"].metadata.resource_version
            if event["type"] != "DELETED":
                turns.append(int(event["object"].data["turn"]))
            if taken == 6 or event["type"] == "DELETED":
                follower.stop()
    writer.join()
    assert turns == list(range(50)), turns
    assert kinds == ["ADDED"] + ["MODIFIED"] * 49 + ["DELETED"], kinds


@check
def the_patches_of_a_list_and_of_a_dict():
    core = client.CoreV1Api()
    core.create_namespaced_config_map(SPACE, config_map("patched", {"a": "1", "b": "2"}))
    steps = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/b"}]
    assert core.patch_namespaced_config_map("patched", SPACE, steps).data == {"a": "1"}
    refused(422, core.patch_namespaced_config_map, "patched", SPACE, [{"op": "test", "path": "/data/a", "value": "x"}])
    apps = client.AppsV1Api()
    apps.create_namespaced_deployment(SPACE, deployment("patched", 1))
    body = {"spec": {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}]}}}}
    merged = apps.patch_namespaced_deployment("patched", SPACE, body)
    [only] = merged.spec.template.spec.containers
    assert (only.image, only.env[0].name) == ("busybox", "A"), only


@check
def scale_and_status_are_objects_of_their_own():
    apps = client.AppsV1Api()
    apps.create_namespaced_deployment(SPACE, deployment("scaled", 1))
    scaled = apps.patch_namespaced_deployment_scale("scaled", SPACE, {"spec": {"replicas": 4}})
    assert scaled.spec.replicas == 4 and scaled.status.selector == "app=scaled", scaled
    apps.patch_namespaced_deployment_status("scaled", SPACE, {"spec": {"replicas": 9}, "status": {"replicas": 2}})
    read = apps.read_namespaced_deployment("scaled", SPACE)
    assert (read.spec.replicas, read.status.replicas) == (4, 2), read


@check
def server_side_apply_keeps_owners_apart():
    api = dynamic.DynamicClient(client.ApiClient())
    maps = api.resources.get(api_version="v1", kind="ConfigMap")

    # As text: the client of this version sends no objects under apply's media type. JSON is YAML.
    def body(**data):
        return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": data})

    def apply(manager, force=None, **data):
        return api.server_side_apply(
            maps, body=body(**data), name="applied", namespace=SPACE, field_manager=manager, force_conflicts=force
        )

    apply("one", a="1", shared="x")
    assert apply("two", b="2").to_dict()["data"] == {"a": "1", "shared": "x", "b": "2"}
    try:
        apply("two", b="2", shared="y")
        raise AssertionError("a field of another owner was taken")
    except ConflictError as error:
        assert json.loads(error.body)["details"]["causes"][0]["field"] == ".data.shared", error.body
    taken = apply("two", force=True, b="2", shared="y")
    assert taken.to_dict()["data"] == {"a": "1", "b": "2", "shared": "y"}
    assert apply("one").to_dict()["data"] == {"b": "2", "shared": "y"}
    owners = {entry["manager"] for entry in taken.to_dict()["metadata"]["managedFields"]}
    assert owners == {"one", "two"}, owners


@check
def the_dynamic_client_finds_and_watches_any_kind():
    api = dynamic.DynamicClient(client.ApiClient())
    leases = api.resources.get(api_version="coordination.k8s.io/v1", kind="Lease")
    lease = {"metadata": {"name": "held"}, "spec": {"holderIdentity": "me", "leaseDurationSeconds": 5}}
    made = leases.create(body={"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **lease}, namespace=SPACE)
    assert made.spec.holderIdentity == "me"
    events = leases.watch(namespace=SPACE, timeout=1)
    assert [(event["type"], event["object"].metadata.name) for event in events] == [("ADDED", "held")]
    leases.delete(name="held", namespace=SPACE)
    try:
        leases.get(name="held", namespace=SPACE)
        raise AssertionError("still there")
    except NotFoundError:
        pass


@check
def a_manifest_of_several_kinds_is_created():
    manifest = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
         "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
         "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "busybox"}]}}}},
    ]
    for one in manifest:
        utils.create_from_dict(client.ApiClient(), one, namespace=SPACE)
    service = client.CoreV1Api().read_namespaced_service("web", SPACE)
    assert service.spec.cluster_ip and service.spec.ports[0].target_port == 80, service
    assert client.BatchV1Api().read_namespaced_job("once", SPACE).spec.backoff_limit == 6


@check
def what_is_wrong_is_told_by_field():
    core = client.CoreV1Api()
    bad = client.V1Pod(
        metadata=client.V1ObjectMeta(name="Bad_Name"),
        spec=client.V1PodSpec(containers=[container(image_pull_policy="Sometimes")]),
    )
    answer = refused(422, core.create_namespaced_pod, SPACE, bad)
    fields = {cause["field"] for cause in answer["details"]["causes"]}
    assert {"metadata.name", "spec.containers[0].imagePullPolicy"} <= fields, fields
    exists = config_map("twice")
    core.create_namespaced_config_map(SPACE, exists)
    assert refused(409, core.create_namespaced_config_map, SPACE, exists)["reason"] == "AlreadyExists"
    assert refused(400, core.list_namespaced_config_map, SPACE, label_selector="a in b")["reason"] == "BadRequest"
    refused(404, client.CustomObjectsApi().list_cluster_custom_object, "example.com", "v1", "things")


@check
def a_pod_is_bound_reported_and_evicted():
    core = client.CoreV1Api()
    core.create_node(client.V1Node(metadata=client.V1ObjectMeta(name="n1")))
    pod = client.V1Pod(metadata=client.V1ObjectMeta(name="p"), spec=client.V1PodSpec(containers=[container()]))
    core.create_namespaced_pod(SPACE, pod)
    target = client.V1ObjectReference(api_version="v1", kind="Node", name="n1")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="p"), target=target)
    # The client of this version cannot read the Status that a binding is answered with.
    core.create_namespaced_pod_binding("p", SPACE, binding, _preload_content=False)
    assert core.read_namespaced_pod("p", SPACE).spec.node_name == "n1"
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    assert core.patch_namespaced_pod_status("p", SPACE, status).status.phase == "Running"
    on_node = core.list_pod_for_all_namespaces(field_selector="spec.nodeName=n1,status.phase=Running").items
    assert [item.metadata.name for item in on_node] == ["p"]
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="p"))
    core.create_namespaced_pod_eviction("p", SPACE, eviction, _preload_content=False)
    assert core.read_namespaced_pod("p", SPACE).metadata.deletion_timestamp is not None


@check
def a_token_speaks_for_its_service_account():
    core = client.CoreV1Api()
    core.create_namespaced_service_account(SPACE, client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="bot")))
    request = {"spec": {"audiences": [], "expirationSeconds": 600}}
    token = core.create_namespaced_service_account_token("bot", SPACE, request).status.token
    review = client.V1TokenReview(spec=client.V1TokenReviewSpec(token=token))
    user = client.AuthenticationV1Api().create_token_review(review).status.user
    assert user.username == f"system:serviceaccount:{SPACE}:bot", user
    own = client.Configuration.get_default_copy()
    own.cert_file = own.key_file = None
    own.api_key, own.api_key_prefix = {"authorization": token}, {"authorization": "Bearer"}
    bot = client.CoreV1Api(client.ApiClient(own))
    answer = refused(403, bot.list_namespaced_secret, SPACE)
    assert f'User "system:serviceaccount:{SPACE}:bot" cannot list resource "secrets"' in answer["message"]


def defined(plural, kind, scope="Namespaced"):
    """A definition that is served, in the group python.example.com."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 0},
                    "color": {"type": "string", "default": "blue"},
                },
            },
            "status": {"type": "object", "properties": {"size": {"type": "integer"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
        },
    }
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.python.example.com"},
        "spec": {
            "group": "python.example.com",
            "scope": scope,
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
        },
    }
    definitions = client.ApiextensionsV1Api()
    definitions.create_custom_resource_definition(body)
    for event in watch.Watch().stream(definitions.list_custom_resource_definition, timeout_seconds=30):
        if event["object"].metadata.name != body["metadata"]["name"]:
            continue
        conditions = {one.type: one.status for one in event["object"].status.conditions or []}
        if conditions.get("Established") == "True":
            return
    raise AssertionError(f"{plural} is not established")


def custom(kind, name, **spec):
    return {"apiVersion": "python.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@check
def the_dynamic_client_finds_and_changes_custom_resources():
    defined("gears", "Gear")
    gears = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="python.example.com/v1", kind="Gear")
    assert gears.namespaced and gears.name == "gears", gears
    made = gears.create(body=custom("Gear", "one", size=1), namespace=SPACE)
    assert made.spec.color == "blue", made
    gears.create(body=custom("Gear", "two", size=2), namespace=SPACE)
    listed = gears.get(namespace=SPACE)
    assert sorted(item.metadata.name for item in listed.items) == ["one", "two"], listed
    merge = "application/merge-patch+json"
    patched = gears.patch(body={"spec": {"size": 5}}, name="one", namespace=SPACE, content_type=merge)
    assert patched.spec.size == 5 and patched.metadata.generation == 2, patched
    gears.delete(name="two", namespace=SPACE)
    names = [item.metadata.name for item in gears.get(namespace=SPACE).items]
    assert names == ["one"], names


@check
def the_dynamic_client_applies_custom_resources():
    defined("bolts", "Bolt")
    bolts = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="python.example.com/v1", kind="Bolt")

    def apply(manager, force=False, **spec):
        # As text: this client sends an object only for a type that is called JSON.
        body = json.dumps(custom("Bolt", "one", **spec))
        kind = "application/apply-patch+yaml"
        return bolts.patch(
            body=body, name="one", namespace=SPACE, content_type=kind, field_manager=manager, force_conflicts=force
        )

    made = apply("first", size=1)
    assert (made.spec.size, made.spec.color) == (1, "blue"), made
    assert [one.operation for one in made.metadata.managedFields] == ["Apply"], made
    try:
        apply("second", size=2)
        raise AssertionError("taken without force")
    except ConflictError as error:
        assert 'conflict with "first": .spec.size' in json.loads(error.body)["message"], error.body
    assert apply("second", force=True, size=2).spec.size == 2
    both = apply("first", color="red").spec
    assert (both.size, both.color) == (2, "red"), both


@check
def the_dynamic_client_writes_status_and_scale_of_custom_resources():
    defined("rods", "Rod")
    rods = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="python.example.com/v1", kind="Rod")
    assert sorted(rods.subresources) == ["scale", "status"], rods.subresources
    made = rods.create(body=dict(custom("Rod", "one", size=1), status={"size": 9}), namespace=SPACE).to_dict()
    assert "status" not in made, made
    place = {"name": "one", "namespace": SPACE}
    merge = "application/merge-patch+json"
    told = rods.status.replace(body=dict(made, status={"size": 3}, spec={"size": 5}), **place)
    assert (told.spec.size, told.status.size, told.metadata.generation) == (1, 3, 1), told
    told = rods.status.patch(body={"status": {"size": 4}}, content_type=merge, **place)
    assert told.status.size == 4, told
    operations = [{"op": "replace", "path": "/status/size", "value": 6}]
    told = rods.status.patch(body=operations, content_type="application/json-patch+json", **place)
    assert rods.status.get(**place).status.size == told.status.size == 6, told
    refused(409, rods.status.replace, body=dict(made, status={"size": 7}), **place)
    scaled = rods.scale.patch(body={"spec": {"replicas": 8}}, content_type=merge, **place)
    assert (scaled.kind, scaled.spec.replicas, scaled.status.replicas) == ("Scale", 8, 6), scaled
    whole = client.CustomObjectsApi().get_namespaced_custom_object_status(
        "python.example.com", "v1", SPACE, "rods", "one"
    )
    assert (whole["spec"]["size"], whole["status"]["size"]) == (8, 6), whole


@check
def the_dynamic_client_watches_custom_resources():
    defined("cogs", "Cog")
    cogs = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="python.example.com/v1", kind="Cog")
    begin = cogs.get(namespace=SPACE).metadata.resourceVersion
    cogs.create(body=custom("Cog", "a", size=1), namespace=SPACE)
    cogs.patch(
        body={"spec": {"size": 2}}, name="a", namespace=SPACE, content_type="application/merge-patch+json"
    )
    cogs.delete(name="a", namespace=SPACE)
    seen = []
    for event in cogs.watch(namespace=SPACE, resource_version=begin, timeout=20):
        seen.append((event["type"], event["object"].spec.size))
        if event["type"] == "DELETED":
            break
    assert seen == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)], seen


@check
def plain_calls_reach_custom_resources_of_the_cluster():
    defined("wheels", "Wheel", scope="Cluster")
    api = client.CustomObjectsApi()
    place = ("python.example.com", "v1", "wheels")
    api.create_cluster_custom_object(*place, custom("Wheel", "a", size=1))
    answer = refused(422, api.create_cluster_custom_object, *place, custom("Wheel", "b", size=-1))
    assert answer["details"]["causes"][0]["field"] == "spec.size", answer
    whole = api.get_cluster_custom_object(*place, "a")
    whole["spec"]["size"] = 7
    assert api.replace_cluster_custom_object(*place, "a", whole)["spec"]["size"] == 7
    refused(409, api.replace_cluster_custom_object, *place, "a", dict(whole, spec={"size": 8}))
    assert [item["metadata"]["name"] for item in api.list_cluster_custom_object(*place)["items"]] == ["a"]
    assert api.delete_cluster_custom_object(*place, "a")["status"] == "Success"
    refused(404, api.get_cluster_custom_object, *place, "a")


def main():
    config.load_kube_config(sys.argv[1])
    core = client.CoreV1Api()
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=SPACE)))
    core.create_namespaced_service_account(SPACE, client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="default")))
    for one in CHECKS:
        try:
            one()
            problem = None
        except Exception:
            problem = traceback.format_exc()
        print(json.dumps({"name": one.__name__.replace("_", " "), "problem": problem}), flush=True)


main()
