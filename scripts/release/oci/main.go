// Command oci writes an image for containers as an OCI image layout: a folder with an index of one image for each platform. Each image
// has a single layer. The request is JSON on standard input. The same request makes the same bytes.
//
// Specification of the layout: github.com/opencontainers/image-spec.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// request is the order of the release, from scripts/release/image.ts.
type request struct {
	// Folder of the layout, which does not exist yet.
	Folder string `json:"folder"`
	// Name and Tag of the image: socle and 0.2.0.
	Name    string    `json:"name"`
	Tag     string    `json:"tag"`
	Created time.Time `json:"created"`
	// Config of the container. Healthcheck is Docker's extension of the OCI image configuration.
	Config    v1.Config  `json:"config"`
	Platforms []platform `json:"platforms"`
}

type platform struct {
	// Architecture by Go's name: amd64.
	Architecture string `json:"architecture"`
	// Layer is the path of a tar.gz.
	Layer string `json:"layer"`
	// Tag of the image for a Docker that takes no index.
	Tag string `json:"tag"`
}

// saved is an entry of manifest.json, the list of images that "docker load" reads when Docker takes no OCI layout: Docker before 29, without
// the image store of containerd.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func blob(hash v1.Hash) string { return "blobs/" + hash.Algorithm + "/" + hash.Hex }

// image builds the image of a platform.
func image(order request, on platform) (v1.Image, error) {
	layer, err := tarball.LayerFromFile(on.Layer, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: order.Created}
	built, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "npm run release"}})
	if err != nil {
		return nil, err
	}
	file, err := built.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", on.Architecture, created, order.Config
	return mutate.ConfigFile(built, file)
}

// entry answers the entry of manifest.json for an image.
func entry(order request, on platform, built v1.Image) (saved, error) {
	manifest, err := built.Manifest()
	if err != nil {
		return saved{}, err
	}
	answer := saved{Config: blob(manifest.Config.Digest), RepoTags: []string{order.Name + ":" + on.Tag}}
	for _, layer := range manifest.Layers {
		answer.Layers = append(answer.Layers, blob(layer.Digest))
	}
	return answer, nil
}

func write(order request) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var list []saved
	for _, on := range order.Platforms {
		built, err := image(order, on)
		if err != nil {
			return err
		}
		descriptor := v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: on.Architecture}}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: descriptor})
		listed, err := entry(order, on, built)
		if err != nil {
			return err
		}
		list = append(list, listed)
	}
	folder, err := layout.Write(order.Folder, empty.Index)
	if err != nil {
		return err
	}
	// Podman and skopeo read the first annotation when there is no second; containerd, and Docker with containerd, read the second.
	names := map[string]string{
		"org.opencontainers.image.ref.name": order.Tag,
		"io.containerd.image.name":          "docker.io/library/" + order.Name + ":" + order.Tag,
	}
	if err := folder.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(order.Folder, "manifest.json"), append(text, '\n'), 0o644)
}

// check reads a layout and compares each blob with its digest, as "crane validate" does.
func check(folder string) error {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	return validate.Index(index)
}

func run() error {
	if len(os.Args) == 3 && os.Args[1] == "validate" {
		return check(os.Args[2])
	}
	var order request
	decoder := json.NewDecoder(os.Stdin)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&order); err != nil {
		return err
	}
	if err := write(order); err != nil {
		return err
	}
	return check(order.Folder)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "oci:", err)
		os.Exit(1)
	}
}
